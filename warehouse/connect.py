"""The one way to open the warehouse: short, one configuration, waiting its turn, never kept open.

No file API may touch the `.duckdb` while this process has it open: closing any descriptor of the file drops DuckDB's
lock, and another process could then write over what this one commits.
"""

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from warehouse.disk import told_when_full
from warehouse.errors import WarehouseError
from warehouse.gate import gate
from warehouse.holders import Waiting, clear_holder, write_holder
from warehouse.migrate import check_version, migrate
from warehouse.rows import transaction

Connection = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Warehouse:
    """A DuckDB file that many processes share by opening it only for moments.

    Attributes:
        path: The file; made by the first write.
        lock_seconds: How long to wait for somebody who holds it.
    """

    path: Path
    lock_seconds: float = 600.0

    @contextmanager
    def read(self, alone: bool = False) -> Iterator[Connection]:
        """Open the file read-only; waits while somebody writes.

        Args:
            alone: Let no other thread of this process read at the same time (for connections that get locked down).

        Raises:
            WarehouseBusy: Somebody held the file until the deadline; the message names them.
            WarehouseError: There is no file, or a later version made it.
        """
        deadline = time.monotonic() + self.lock_seconds
        turn = gate(self.path).alone if alone else gate(self.path).shared
        with turn(self.path, deadline):
            if not self.path.exists():
                raise WarehouseError(f"{self.path} does not exist; the first run makes it")
            connection = open_file(self.path, True, deadline)
            try:
                check_version(connection, self.path)
                yield connection
            finally:
                connection.close()

    @contextmanager
    def write(self, operation: str = "write") -> Iterator[Connection]:
        """Open the file for writing, in one transaction that is rolled back on any error.

        The file and its tables are made by the first write; a file of an earlier version is upgraded.

        Args:
            operation: What for, in a word or two: shown to whoever waits.

        Raises:
            WarehouseBusy: Somebody held the file until the deadline; the message names them.
            DiskFull: There is no room for what was to be written; nothing was changed.
            WarehouseError: A later version made the file.
        """
        deadline = time.monotonic() + self.lock_seconds
        with self.writing(operation, deadline), self.opened_to_write(deadline) as connection:
            yield connection

    @contextmanager
    def writing(self, operation: str, deadline: float) -> Iterator[None]:
        """Keep every other writer of ours out, in this process and in others; the file stays closed.

        Args:
            operation: What for, in a word or two: shown to whoever waits.
            deadline: When to give up, on the clock of `time.monotonic`.

        Raises:
            WarehouseBusy: Somebody held the file until the deadline; the message names them.
            DiskFull: There is no room for what was to be written; nothing was changed.
        """
        with (
            told_when_full(self.path, operation),
            gate(self.path).alone(self.path, deadline),
            writers_turn(self.path, operation, deadline),
        ):
            yield

    @contextmanager
    def opened_to_write(self, deadline: float) -> Iterator[Connection]:
        """Open the file for one transaction, inside `writing`."""
        connection = open_file(self.path, False, deadline)
        try:
            migrate(connection, self.path)
            with transaction(connection):
                yield connection
        finally:
            connection.close()


@contextmanager
def writers_turn(path: Path, operation: str, deadline: float) -> Iterator[None]:
    """Hold the lock beside the file, which only writers of ours take, with pid and operation beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(f"{path}.lock")
    waiting = Waiting(path, deadline)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=0.5, poll_interval=0.02)
        except Timeout:
            waiting.tick("")
    try:
        write_holder(path, operation)
        yield
    finally:
        clear_holder(path)
        lock.release()


def open_file(path: Path, read_only: bool, deadline: float) -> Connection:
    """Connect with our one configuration, trying again while another process holds the file.

    Args:
        path: The DuckDB file.
        read_only: Whether nothing will be written.
        deadline: When to give up, on the clock of `time.monotonic`.
    """
    waiting = Waiting(path, deadline)
    while True:
        try:
            return duckdb.connect(str(path), read_only=read_only, config=configuration(path))
        except duckdb.IOException as error:
            if "Could not set lock on file" not in str(error):
                raise
            waiting.tick(str(error))
        # Uneven steps, so that two who wait do not keep meeting.
        time.sleep(random.uniform(0.01, 0.08))


def configuration(path: Path) -> dict[str, str | bool | int | float | list[str]]:
    """DuckDB's settings; all connections of a process must share them."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "storage_compatibility_version": "v1.4.0",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "threads": 2,
        "memory_limit": f"{memory // 4 // 2**20}MiB",
        "temp_directory": f"{path}.tmp",
    }
