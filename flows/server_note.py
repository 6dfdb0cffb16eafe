"""`.prefect/server.json`: who runs a folder's Prefect server and who uses it; read and written under a lock."""

import contextlib
import json
import os
import signal
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from flows.processes import Process

STOP_SECONDS = 10.0


class ServerNote:
    """The note in a folder. Every method but `stop` needs the lock to be held."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "server.json"
        self.lock = FileLock(folder / "server.lock")

    def read(self) -> tuple[Process, int, list[Process]] | None:
        """The server, its port, and those of its users that are alive; None where no server was started."""
        try:
            note = json.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        users = [user for user in (Process(*item) for item in note["users"]) if user.alive]
        return Process(*note["server"]), int(note["port"]), users

    def write(self, server: Process, port: int, users: Sequence[Process]) -> None:
        """Replace the note."""
        written = datetime.now(UTC).isoformat(timespec="seconds")
        note = {"port": port, "server": server, "written": written, "users": users}
        beside = self.path.with_suffix(".json.tmp")
        beside.write_text(json.dumps(note, indent=1) + "\n", "utf-8")
        beside.replace(self.path)

    def remove(self) -> None:
        """There is no server any more."""
        self.path.unlink(missing_ok=True)


def stop(server: Process) -> None:
    """End a server: asked first, killed where it does not listen."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            if server.alive:
                os.kill(server.pid, number)
        deadline = time.monotonic() + STOP_SECONDS
        while server.alive and time.monotonic() < deadline:
            time.sleep(0.05)
