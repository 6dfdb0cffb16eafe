"""One run at a time per warehouse."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

LOOK_SECONDS = 0.5  # a run that begins waits so long: whoever asks whether the lock is held holds it for a moment


class Busy(RuntimeError):
    """Another run works on this warehouse; the message names it."""


@contextmanager
def run_lock(home: Path, recipe: str) -> Iterator[None]:
    """Hold the warehouse of a folder for one run, for as long as the block lasts.

    The lock is the operating system's: it ends with the process, however that ends.

    Args:
        home: The folder that holds `warehouse.duckdb`.
        recipe: Name of the recipe, for whoever comes second.

    Raises:
        Busy: Another run holds it.
    """
    home.mkdir(parents=True, exist_ok=True)
    holder = home / "warehouse.duckdb.run.json"
    lock = FileLock(home / "warehouse.duckdb.run.lock", timeout=LOOK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise Busy(f"{home / 'warehouse.duckdb'}: {describe(holder)}; wait for it, or stop it first") from None
    try:
        about = {"pid": os.getpid(), "recipe": recipe, "since": datetime.now(UTC).isoformat(timespec="seconds")}
        beside = holder.with_suffix(".json.tmp")
        beside.write_text(json.dumps(about) + "\n", "utf-8")
        beside.replace(holder)
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def running_now(home: Path) -> bool:
    """Whether a run holds the folder's run lock."""
    path = home / "warehouse.duckdb.run.lock"
    if not path.exists():
        return False
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        return True
    lock.release()
    return False


def describe(holder: Path) -> str:
    """Say in words who holds the run lock; the note may not be written yet or be gone already."""
    try:
        about = json.loads(holder.read_text("utf-8"))
        return f"the run of {about['recipe']!r} (process {about['pid']}, since {about['since']}) is using it"
    except (FileNotFoundError, json.JSONDecodeError, KeyError):
        return "another run is using it"
