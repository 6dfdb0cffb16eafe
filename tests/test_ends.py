"""Runs that cannot say how they ended: a hook, or the next run, says it for them."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows import cancellation
from flows.cancellation import INTERRUPTED, Halted, cancellable
from flows.ends import close_gone, close_run
from flows.invocation import exclusively
from flows.parting import Parting, parted
from flows.recipe import Named
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.load import finish_run, start_run


def begun(home: Path, flow_run: str) -> int:
    return start_run(Warehouse(home / "warehouse.duckdb"), "distill", "nightly", "{}", {"flow_run_id": flow_run})


def rows(home: Path) -> list[tuple[str, str | None]]:
    with Warehouse(home / "warehouse.duckdb").read() as connection:
        return connection.execute("SELECT status, error FROM runs ORDER BY run_id").fetchall()


def ended(home: Path, flow_run: str, kind: str, message: str | None = None) -> None:
    parameters = {"where": {"home": str(home)}}
    state = SimpleNamespace(type=SimpleNamespace(value=kind), message=message)
    close_run(flow=None, flow_run=SimpleNamespace(id=flow_run, parameters=parameters), state=state)


@pytest.mark.parametrize(
    ("kind", "status"),
    [("CRASHED", "crashed"), ("CANCELLED", "cancelled"), ("CANCELLING", "cancelled"), ("FAILED", "failed")],
)
def test_a_hook_closes_the_row_of_its_run_alone(tmp_path: Path, kind: str, status: str) -> None:
    for name in ("a", "b"):
        begun(tmp_path, name)
    ended(tmp_path, "a", kind, "its process was killed")
    assert rows(tmp_path) == [(status, "its process was killed"), ("running", None)]


def test_a_run_that_said_its_end_keeps_it(tmp_path: Path) -> None:
    """In the run's own process the hook comes after the run has said more than Prefect knows."""
    number = begun(tmp_path, "a")
    finish_run(Warehouse(tmp_path / "warehouse.duckdb"), number, "failed", "the whole reason")
    ended(tmp_path, "a", "CRASHED")
    assert rows(tmp_path) == [("failed", "the whole reason")]


def test_a_hook_without_a_warehouse_makes_none(tmp_path: Path) -> None:
    ended(tmp_path, "a", "FAILED", "parameters that cannot be read")
    assert list(tmp_path.iterdir()) == []


def test_runs_whose_process_is_gone_are_closed_whatever_the_server_says(tmp_path: Path) -> None:
    begun(tmp_path, "no id of Prefect's")
    begun(tmp_path, "")
    close_gone(Where(home=tmp_path))
    assert [status for status, _ in rows(tmp_path)] == ["crashed", "crashed"]


def test_what_stops_a_part_has_closed_the_whole_before_a_server_is_waited_for(tmp_path: Path) -> None:
    """A sweep whose variant was stopped while the server was away: its process ends within the wait of the variant."""
    asked, where, found = Named(name="nightly"), Where(home=tmp_path), list[object]()

    class Waiting(Parting):
        def begin(self, stopped: str = "", failure: Exception | None = None) -> None:
            found.append((stopped, rows(tmp_path)))

    def part(*_: object) -> None:
        raise KeyboardInterrupt

    def whole(*_: object) -> None:
        exclusively("distill", part, asked, where)
        raise Halted(INTERRUPTED)

    with parted(Waiting(print, print)):
        exclusively("sweep", whole, asked, where)
    assert found[0] == (INTERRUPTED, [("cancelled", "stopped by a signal")] * 2)


def test_a_cancelled_run_is_interrupted_as_by_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancellation, "LOOK_EVERY", 0.05)
    answers, clients = iter([False, False, OSError("away"), False, True]), list[int]()

    def state(flow_run: str) -> bool:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return bool(answer)

    @contextmanager
    def asking() -> Iterator[Callable[[str], bool]]:
        clients.append(1)
        yield state

    monkeypatch.setattr(cancellation, "_asking", asking)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with cancellable("a") as asked, pytest.raises(KeyboardInterrupt):
            time.sleep(10)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert asked.cancelled
    assert len(clients) == 2  # kept as long as the server answers


def test_nothing_is_watched_where_prefect_stops_the_process_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cancellation.SERVED, "a")
    with cancellable("a"):
        assert "remine-cancellation" not in {thread.name for thread in threading.enumerate()}
    with cancellable(None):
        assert "remine-cancellation" not in {thread.name for thread in threading.enumerate()}
    assert os.environ[cancellation.SERVED] == "a"
