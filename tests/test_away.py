"""A Prefect server that goes away: a run goes on without it, and ends in one line where it stays away."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from service import HERE, LONG, ask, environment, flow_runs, runs, said, settled, start, training, wait

from flows.connection import PATIENT, problem_of
from flows.local_server import QUIET, free_port, listening

pytestmark = pytest.mark.slow


class Server:
    """A server that the environment names, as a unit of systemd would run it: its address stays."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}/api"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(self.port)]
        variables = {**environment(), **QUIET, **listening(self.folder, self.port)}
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=variables, stdout=log, stderr=log)
        wait("the server", lambda: not problem_of(self.url, 2), 90)

    def stop(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)  # nothing where it has ended
        self.process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("server"))
    made.start()
    yield made
    made.stop(signal.SIGTERM)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, tiny_student: Path) -> Path:
    return settled(tmp_path_factory.mktemp("home"), tiny_student)


def begun(home: Path, server: Server, retries: int, *more: str) -> "subprocess.Popen[str]":
    """A run that is on its way, and a server that listens."""
    if problem_of(server.url, 2):  # an earlier test took it away
        server.start()
    before = len(runs(home)) if (home / "warehouse.duckdb").exists() else 0
    patience = {**PATIENT, "PREFECT_CLIENT_MAX_RETRIES": str(retries)}
    process = start(home, "run", *HERE, *more, PREFECT_API_URL=server.url, **patience)
    there = home / "warehouse.duckdb"
    wait("a run", lambda: process.poll() is not None or (there.exists() and len(runs(home)) > before), 120)
    assert process.poll() is None, said(home)
    return process


def test_a_run_goes_on_while_its_server_is_away(home: Path, server: Server) -> None:
    """Four retries bear 24 seconds as seven bear 200; the run comes to its end while nobody listens."""
    process = begun(home, server, 4)
    server.stop(signal.SIGKILL)
    wait("the report", lambda: process.poll() is not None or (home / "data/artifacts/report").exists(), 200)
    with pytest.raises(AssertionError, match="not within"):
        wait("the end", lambda: process.poll() is not None, 10)
    server.start()
    assert process.wait(timeout=120) == 0, said(home)
    assert runs(home)[-1][1:3] == ("distill", "completed")
    wait("the state", lambda: [each["state_type"] for each in flow_runs(server.url)] == ["COMPLETED"], 10)

    def states() -> Counter[str]:
        return Counter(each["state_type"] for each in ask(server.url, "task_runs/filter", {}))

    wait("every step's state", lambda: set(states()) == {"COMPLETED"}, 40)
    assert states().total() > 25
    assert "does not answer" in said(home) and "EventsWorker" not in said(home)


def test_a_server_that_stays_away_ends_a_run_in_one_line(home: Path, server: Server) -> None:
    """One retry bears two seconds."""
    process = begun(home, server, 1)
    before = len(said(home))
    server.stop(signal.SIGKILL)
    assert process.wait(timeout=120) == 1
    last = said(home)[before:].strip().splitlines()[-1]
    assert "no answer from Prefect for minutes" in last and "the same command goes on from there" in last
    assert "Traceback" not in said(home)
    assert runs(home)[-1][1:3] == ("distill", "completed"), "the work itself came to its end"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_whoever_stops_a_run_does_not_wait_for_a_server_that_is_away(home: Path, server: Server, number: int) -> None:
    """Seven retries would keep the process for minutes; what the server has missed, the next run tells it."""
    process = begun(home, server, 7, *LONG, "--set", f"seed={number}")
    wait("a training", lambda: training(home), 60)
    stopped = flow_runs(server.url)[-1]["id"]
    assert server.process is not None
    server.process.send_signal(number)
    process.send_signal(signal.SIGINT)
    assert wait("the end", lambda: process.poll() is not None, 60) < 10
    last = said(home).strip().splitlines()[-1]
    assert process.returncode == 130 and last.startswith("Stopped by Ctrl-C; what was finished is kept"), said(home)
    assert "does not know how the run ended" in last
    assert runs(home)[-1][2] == "cancelled"
    if number == signal.SIGKILL:
        server.start()
    server.process.send_signal(signal.SIGCONT)
    following = start(home, "run", *HERE, "--set", "source.path=nowhere", PREFECT_API_URL=server.url)
    assert following.wait(timeout=120) == 1
    (state,) = [each["state"] for each in flow_runs(server.url) if each["id"] == stopped]
    assert (state["type"], state["message"]) == ("CANCELLED", "stopped by a signal")
    left = ask(server.url, "task_runs/filter", {"flow_runs": {"id": {"any_": [stopped]}}})
    assert not {each["state_type"] for each in left} & {"PENDING", "RUNNING"}, "a step that runs for ever"
