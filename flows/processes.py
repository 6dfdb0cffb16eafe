"""Which processes are still alive, told apart from later ones with the same number."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """A process and when it started: the number alone is given out again."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        return self.started != "" and started(self.pid) == self.started


def this_process() -> Process:
    """The process that asks."""
    return Process(os.getpid(), started(os.getpid()))


def started(pid: int) -> str:
    """When a process started, in the system's own form; empty where it has ended (or only waits to be reaped)."""
    proc = Path("/proc")
    if (proc / "self" / "stat").exists():
        try:
            fields = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return ""
        return "" if fields[0] in "ZX" else fields[19]
    told = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, since = told.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else since.strip()
