"""Our own Prefect server: started once, shared, stopped by the last one out, replaced when it died."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flows.connection import problem_of
from flows.processes import Process, started, this_process
from flows.server import Connection, ServerError, configured_url

CLIENT = """
import sys
from pathlib import Path
from flows.local_server import LocalServer
server = LocalServer(Path(sys.argv[1]))
server.wait_ready(lambda sentence: None)
print(server.port, server.server.pid, flush=True)
sys.stdin.readline()
server.leave()
"""

FLOW = """
import atexit, sys
from pathlib import Path
from flows.server import connect
connection = connect(Path(sys.argv[1]))
atexit.register(connection.leave)
from prefect import flow, task
@task
def work(): pass
@flow
def last_states():
    for _ in range(20):
        work()
connection.wait_ready(lambda sentence: None)
last_states()
"""


@pytest.fixture
def unconfigured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in list(os.environ):
        if name.startswith("PREFECT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all tests with a real server: only the first start in a folder makes the database."""
    return tmp_path_factory.mktemp("home")


def note_of(home: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((home / ".prefect" / "server.json").read_text("utf-8"))
    return found


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return {**kept, "PYTHONPATH": str(Path(__file__).parents[1])}


@contextmanager
def client(home: Path) -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    """A process that uses the folder's server until its stdin is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
        cwd=home,
    )
    assert process.stdout is not None
    port, pid = process.stdout.readline().split()
    try:
        yield process, int(port), int(pid)
    finally:
        process.communicate(timeout=60)


def gone(pid: int, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while started(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not started(pid)


def test_a_process_that_ended_is_not_alive_even_before_it_is_reaped() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = Process(child.pid, started(child.pid))
    assert process.alive
    child.kill()
    assert gone(child.pid)
    assert not process.alive
    child.communicate()


def test_a_number_given_out_again_is_another_process() -> None:
    assert this_process().alive
    assert not Process(os.getpid(), "1").alive


def test_an_unreachable_configured_server_is_named() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/api"
        with pytest.raises(ServerError, match=f"{url} .*does not answer"):
            Connection(url).wait_ready(lambda sentence: None)


def test_a_proxy_of_the_environment_is_not_asked_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:1")
    assert "refused" in problem_of("http://127.0.0.1:9/api", seconds=2)


def test_nothing_configured_means_a_server_of_our_own(unconfigured: Path) -> None:
    assert configured_url() is None


def test_the_environment_names_the_configured_server(unconfigured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://prefect.example/api")
    assert configured_url() == "http://prefect.example/api"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            ".prefect/profiles.toml",
            'active = "ours"\n[profiles.ours]\nPREFECT_API_URL = "http://prefect.example/api"\n',
        ),
        ("prefect.toml", '[api]\nurl = "http://prefect.example/api"\n'),
        ("pyproject.toml", '[tool.prefect.api]\nurl = "http://prefect.example/api"\n'),
        (".env", "PREFECT_API_URL=http://prefect.example/api\n"),
    ],
)
def test_a_server_configured_in_a_file_is_found(unconfigured: Path, name: str, text: str) -> None:
    path = unconfigured / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    assert configured_url() == "http://prefect.example/api"


@pytest.mark.slow
def test_the_last_one_out_stops_the_server(home: Path) -> None:
    """A server stopped by the first one out takes the runs of the others with it."""
    with client(home) as (_, port, pid):
        with client(home) as (_, second_port, second_pid):
            assert (second_port, second_pid) == (port, pid)
        assert started(pid), "somebody still uses it"
        assert problem_of(f"http://127.0.0.1:{port}/api", seconds=5) == ""
    assert gone(pid)
    assert not (home / ".prefect" / "server.json").exists()


@pytest.mark.slow
def test_two_processes_that_start_at_once_share_one_server(home: Path) -> None:
    command = [sys.executable, "-c", CLIENT, str(home)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment(), "cwd": home}
    both = [subprocess.Popen(command, **pipes) for _ in range(2)]  # type: ignore[call-overload]
    answers = {process.stdout.readline() for process in both}
    for process in both:
        process.communicate(timeout=60)
    assert len(answers) == 1
    assert all(process.returncode == 0 for process in both)


@pytest.mark.slow
def test_a_killed_user_no_longer_counts(home: Path) -> None:
    """A count that only goes down when users say goodbye never reaches zero after a `kill -9`."""
    with client(home) as (killed, _, pid), client(home) as (_, _, second):
        killed.kill()
        killed.wait()
        with client(home) as (_, _, third):
            assert pid == second == third
            assert len(note_of(home)["users"]) == 2  # type: ignore[arg-type]
    assert gone(pid)


@pytest.mark.slow
def test_a_server_whose_users_were_all_killed_is_stopped(home: Path) -> None:
    """After `kill -9` of a run nobody is left to stop it, and it would use memory for ever."""
    with client(home) as (killed, _, pid):
        killed.kill()
        killed.wait()
        assert gone(pid, seconds=40)
    deadline = time.monotonic() + 20
    while (home / ".prefect" / "server.json").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not (home / ".prefect" / "server.json").exists()


@pytest.mark.slow
def test_a_killed_server_comes_back_where_its_users_look_for_it(home: Path) -> None:
    """Prefect's client retries at the old address; a new port would lose the run that is going on."""
    with client(home) as (_, port, pid):
        os.kill(pid, signal.SIGKILL)
        assert gone(pid)
        with client(home) as (_, new_port, new_pid):
            assert new_port == port
            assert new_pid != pid
        assert started(new_pid), "the first user still counts"
    assert gone(new_pid)


@pytest.mark.slow
def test_the_last_states_of_a_run_are_written_down(home: Path) -> None:
    """Prefect's in-process server is stopped too early and leaves task runs PENDING for ever."""
    environment_ = environment()
    subprocess.run([sys.executable, "-c", FLOW, str(home)], env=environment_, cwd=home, check=True, capture_output=True)
    with sqlite3.connect(home / ".prefect" / "prefect.db") as database:
        (flow_run,) = database.execute("SELECT id FROM flow_run WHERE state_type = 'COMPLETED'").fetchall()
        tasks = database.execute("SELECT state_type FROM task_run WHERE flow_run_id = ?", flow_run).fetchall()
    assert tasks == [("COMPLETED",)] * 20
    assert not (home / ".prefect" / "server.json").exists()


@pytest.mark.slow
def test_a_port_in_use_is_an_error_with_the_servers_own_words(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        script = CLIENT.replace("Path(sys.argv[1])", f"Path(sys.argv[1]), {taken.getsockname()[1]}")
        told = subprocess.run(
            [sys.executable, "-c", script, str(home)], env=environment(), cwd=home, capture_output=True, text=True
        )
    assert "already in use" in told.stderr
    assert not (home / ".prefect" / "server.json").exists()
