"""A folder's own Prefect server: the first process starts it, later ones join, the last one out stops it.

Its database is in `.prefect/` in the folder, and `.prefect/server.json` says who runs it and who uses it. It is a
process of its own: Prefect's in-process ("ephemeral") server loses the last states of a run.
"""

import json
import os
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from flows.connection import Connection, Say, ServerError, fetch, problem_of
from flows.processes import Process, started, this_process
from flows.server_note import ServerNote, stop

READY_SECONDS = 240.0  # on a machine at its limit a first start took more than 90
SETTLE_SECONDS = 20.0
STILL_SECONDS = 1.5

QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_EPHEMERAL_ENABLED": "false",
    # Longer than the 25 seconds for which Prefect's client keeps a connection: who closes it is never the server.
    "PREFECT_SERVER_API_KEEPALIVE_TIMEOUT": "60",
}


class LocalServer(Connection):
    """The server of one folder, and this process's place among those who use it."""

    def __init__(self, home: Path, port: int | None = None) -> None:
        """Start or join the server; it may not answer yet.

        Args:
            home: The folder; `.prefect/` is made in it.
            port: Port to start on; any free one by default. A server that runs already keeps its own.
        """
        self.folder = (home / ".prefect").resolve()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.log = self.folder / "server.log"
        self._note = ServerNote(self.folder)
        self._child: subprocess.Popen[bytes] | None = None
        self._me = this_process()
        self._since = datetime.now(UTC).isoformat()
        with self._note.lock:
            self.server, self.port = self._join(port)
        super().__init__(f"http://127.0.0.1:{self.port}/api")
        self._before = self._configure()

    def wait_ready(self, say: Say) -> None:
        """Wait until the server answers; the first start in a folder makes its database (about ten seconds).

        Raises:
            ServerError: It ended, or did not answer in time; with the last lines of its log.
        """
        begun = time.monotonic()
        told = False
        while problem := problem_of(self.url, seconds=2):
            waited = time.monotonic() - begun
            if not self.server.alive:
                self._give_up("ended")
            if waited > READY_SECONDS:
                self._give_up(f"gave no answer in {READY_SECONDS:.0f} s ({problem})")
            if waited > 1.5 and not told:
                say("Starting the Prefect server; the first start in a folder takes about ten seconds.")
                told = True
            time.sleep(0.1)

    def leave(self) -> None:
        """Take this process off the list of users; the last one out stops the server."""
        with self._note.lock:
            found = self._note.read()
            if found is not None and self._me in found[2]:
                self.server, port, users = found
                others = [user for user in users if user != self._me]
                if others:
                    self._note.write(self.server, port, others)
                else:
                    self._settle()
                    stop(self.server)
                    self._note.remove()
        if self._child is not None:
            self._child.poll()
        if self._before:
            restore(self._before)
            self._before = {}
            refresh()

    def _join(self, port: int | None) -> tuple[Process, int]:
        found = self._note.read()
        users = [*(found[2] if found else []), self._me]
        if found is not None and found[0].alive:
            server, chosen = found[0], found[1]
        else:
            # Those who outlived their server go on asking at the old address, so it comes back there.
            chosen = found[1] if found and len(users) > 1 else port or free_port()
            server = self._start(chosen)
        self._note.write(server, chosen, users)
        return server, chosen

    def _start(self, port: int) -> Process:
        self.log.unlink(missing_ok=True)
        environment = {**os.environ, **QUIET, **listening(self.folder, port)}
        for name in ("PREFECT_API_URL", "PREFECT_PROFILE"):
            environment.pop(name, None)
        self._child = self._detached(
            ["prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)], environment
        )
        server = Process(self._child.pid, started(self._child.pid))
        self._detached(["flows.keeper", str(self.folder), str(server.pid), server.started], dict(os.environ))
        return server

    def _detached(self, module: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
        """Run a Python module as a process of its own, out of reach of Ctrl-C in the terminal."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", *module],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _settle(self) -> None:
        """Let the server write down the last states of the runs that ended while this process used it.

        They reach it as events, which it works off one after the other; when nothing has changed for a while and
        no task run is left open, it has come to their end.
        """
        deadline = time.monotonic() + SETTLE_SECONDS
        before, since = (-1, -1), time.monotonic()
        while self.server.alive and time.monotonic() < deadline:
            try:
                if not self._count("flow_runs"):
                    return
                now = self._count("task_runs"), self._count("task_runs", "RUNNING", "PENDING")
            except (OSError, ValueError):
                now = (-1, -1)
            if now != before:
                before, since = now, time.monotonic()
            if now[1] == 0 and time.monotonic() - since >= STILL_SECONDS:
                return
            time.sleep(0.2)

    def _count(self, kind: str, *states: str) -> int:
        """How many flow runs that ended since this process came, or task runs of theirs, the server has."""
        query: dict[str, object] = {"flow_runs": {"end_time": {"after_": self._since}}}
        if states:
            query["task_runs"] = {"state": {"type": {"any_": states}}}
        return int(json.loads(fetch(f"{self.url}/{kind}/count", json.dumps(query).encode())))

    def _configure(self) -> dict[str, str | None]:
        hosts = ",".join(filter(None, [os.environ.get("NO_PROXY"), "127.0.0.1,localhost"]))
        ours = {**QUIET, "PREFECT_API_URL": self.url, "PREFECT_HOME": str(self.folder), "NO_PROXY": hosts}
        before = {name: os.environ.get(name) for name in (*ours, "PREFECT_PROFILE")}
        restore({**ours, "PREFECT_PROFILE": None})
        refresh()
        return before

    def _give_up(self, what: str) -> None:
        tail = "\n".join(self.log.read_text("utf-8", errors="replace").splitlines()[-12:])
        self.leave()
        raise ServerError(f"the Prefect server on port {self.port} {what}; {self.log} ends with:\n{tail}")


def listening(folder: Path, port: int) -> dict[str, str]:
    """Where our server listens and keeps its database; the page in the browser has to be told the address too."""
    return {
        "PREFECT_HOME": str(folder),
        "PREFECT_SERVER_API_HOST": "127.0.0.1",
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_UI_API_URL": f"http://127.0.0.1:{port}/api",
    }


def free_port() -> int:
    """A port on loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def refresh() -> None:
    """Let Prefect see the environment again, where it is imported already: it reads its settings at import."""
    if "prefect" in sys.modules:
        from prefect.context import refresh_global_settings_context

        refresh_global_settings_context()


def restore(values: dict[str, str | None]) -> None:
    """Set environment variables; `None` removes one."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
