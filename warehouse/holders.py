"""Who holds the warehouse: process, command, since when."""

import json
import logging
import os
import re
import time
from datetime import datetime
from pathlib import Path

from warehouse.errors import WarehouseBusy

log = logging.getLogger("remine.warehouse")

FIRST_NOTICE = 5.0  # seconds of waiting before a person is told
NEXT_NOTICE = 30.0  # seconds between notices


def holder_path(path: Path) -> Path:
    """The file beside the lock that says who writes.

    Not the lock file itself: versions of filelock truncate that whenever somebody waits for it.
    """
    return path.with_name(f"{path.name}.lock.json")


def write_holder(path: Path, operation: str) -> None:
    """Say that this process writes, and what for."""
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    holder = {"pid": os.getpid(), "operation": operation, "since": now}
    beside = holder_path(path).with_name(f"{holder_path(path).name}.tmp")  # one writer at a time holds the lock
    beside.write_text(json.dumps(holder) + "\n", "utf-8")
    beside.replace(holder_path(path))


def clear_holder(path: Path) -> None:
    """Say that this process has finished writing."""
    holder_path(path).unlink(missing_ok=True)


def read_holder(path: Path) -> dict[str, str]:
    """Who says that it writes: pid, operation, since; empty where nobody does."""
    try:
        return {key: str(value) for key, value in json.loads(holder_path(path).read_text("utf-8")).items()}
    except (OSError, ValueError):
        return {}


def describe_process(pid: int) -> str:
    """Name a process for people: pid, command, and since when it runs, as far as the system tells."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return f"process {pid}"
    command = " ".join(words.replace("\0", " ").split())[:200]
    started = _started(pid)
    return f"process {pid} ({command}{f', running since {started}' if started else ''})"


def describe_holder(path: Path, error: str) -> str:
    """Name whoever holds the file, from DuckDB's lock error and from what a writer of ours left beside the lock."""
    holder = read_holder(path)
    found = re.search(r"PID (\d+)", error)
    pid = found.group(1) if found else holder.get("pid")
    if pid is None:
        return "a process that the system does not name"
    named = describe_process(int(pid))
    if holder.get("pid") == pid:
        named += f", to {holder.get('operation')}, since {holder.get('since')}"
    return named


class Waiting:
    """One wait for the file: says who holds it after a while, and gives up at the deadline."""

    def __init__(self, path: Path, deadline: float) -> None:
        self.path = path
        self.deadline = deadline
        self.began = time.monotonic()
        self._notice = self.began + FIRST_NOTICE

    def tick(self, error: str) -> None:
        """Call after every refusal.

        Args:
            error: DuckDB's message, or an empty text where the lock beside the file is meant.

        Raises:
            WarehouseBusy: The deadline has passed; the message names the holder.
        """
        now = time.monotonic()
        if now >= self.deadline:
            raise WarehouseBusy(
                f"{self.path} was held for {now - self.began:.0f} s by {describe_holder(self.path, error)}; "
                "close it there and run again, nothing that was computed is lost"
            )
        if now >= self._notice:
            self._notice = now + NEXT_NOTICE
            log.warning(
                "%s is held by %s; waiting since %.0f s, for %.0f s more",
                self.path,
                describe_holder(self.path, error),
                now - self.began,
                self.deadline - now,
            )


def _started(pid: int) -> str:
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[19])
        lines = Path("/proc/stat").read_text("utf-8").splitlines()
        boot = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
        start = boot + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return ""
    return datetime.fromtimestamp(start).astimezone().isoformat(timespec="seconds")
