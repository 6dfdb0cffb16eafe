"""Readers together or one writer alone, among the threads of this process.

DuckDB refuses a read-only and a writing connection side by side even inside one process, so threads have to take turns
before they ask the file.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from warehouse.errors import WarehouseBusy, WarehouseError


class Gate:
    """A readers-writer lock with deadlines that refuses to be entered twice by one thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers: set[int] = set()
        self._writer: int | None = None

    @contextmanager
    def shared(self, path: Path, deadline: float) -> Iterator[None]:
        """Enter beside other readers; `deadline` on the clock of `time.monotonic`."""
        me = threading.get_ident()
        with self._changed:
            self._refuse_nesting(me, path)
            self._wait(lambda: self._writer is None, path, deadline)
            self._readers.add(me)
        try:
            yield
        finally:
            with self._changed:
                self._readers.discard(me)
                self._changed.notify_all()

    @contextmanager
    def alone(self, path: Path, deadline: float) -> Iterator[None]:
        """Enter with no other thread inside; `deadline` on the clock of `time.monotonic`."""
        me = threading.get_ident()
        with self._changed:
            self._refuse_nesting(me, path)
            self._wait(lambda: self._writer is None and not self._readers, path, deadline)
            self._writer = me
        try:
            yield
        finally:
            with self._changed:
                self._writer = None
                self._changed.notify_all()

    def _refuse_nesting(self, me: int, path: Path) -> None:
        if me == self._writer or me in self._readers:
            raise WarehouseError(
                f"{path}: this thread has the warehouse open already; a second connection inside the first "
                "would wait for itself until the deadline"
            )

    def _wait(self, free: Callable[[], bool], path: Path, deadline: float) -> None:
        if not self._changed.wait_for(free, max(0.0, deadline - time.monotonic())):
            raise WarehouseBusy(f"{path}: another thread of this process held the warehouse until the deadline")


# One gate per file for the whole process: DuckDB's own rule is per process, whoever holds the objects.
# The process id is in the key because a forked child inherits the memory, not the threads that would leave the gate.
_gates: dict[tuple[int, Path], Gate] = {}
_guard = threading.Lock()


def gate(path: Path) -> Gate:
    """The gate of a file in this process."""
    with _guard:
        return _gates.setdefault((os.getpid(), path.resolve()), Gate())
