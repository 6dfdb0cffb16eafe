"""`remine runs` and `remine ui` tell the truth about runs that were killed."""

import json
from pathlib import Path

from command import Remine

from flows.locks import run_lock
from warehouse.connect import Warehouse
from warehouse.load import finish_run, start_run


def begun(home: Path) -> Warehouse:
    """A warehouse with a run that ended and one that says it is running."""
    warehouse = Warehouse(home / "warehouse.duckdb")
    finish_run(warehouse, start_run(warehouse, "distill", "nightly", "{}", {}), "completed", None)
    start_run(warehouse, "distill", "nightly", "{}", {})
    return warehouse


def ends(remine: Remine, home: Path) -> list[tuple[str, str | None]]:
    rows = json.loads(remine("runs", "--format", "json", cwd=home).stdout)
    return [(row["status"], row["error"]) for row in rows]


def test_a_killed_run_is_shown_as_crashed_before_the_next_run_closes_it(remine: Remine, tmp_path: Path) -> None:
    """Whoever waits for a run that is long dead waits for ever."""
    begun(tmp_path)
    assert ends(remine, tmp_path) == [("crashed", "killed: it ended without a word"), ("completed", None)]
    assert "`remine resume 2` goes on" in remine("runs", cwd=tmp_path).stderr


def test_a_run_that_goes_on_is_running(remine: Remine, tmp_path: Path) -> None:
    begun(tmp_path)
    with run_lock(tmp_path, "nightly"):
        assert ends(remine, tmp_path) == [("running", None), ("completed", None)]
        assert "resume" not in remine("runs", cwd=tmp_path).stderr


def test_looking_closes_nothing(remine: Remine, tmp_path: Path) -> None:
    """The Prefect server is told of the end by whoever closes the run; looking starts no server."""
    warehouse = begun(tmp_path)
    ends(remine, tmp_path)
    with warehouse.read() as connection:
        assert connection.execute("SELECT status FROM runs ORDER BY run_id").fetchall() == [
            ("completed",),
            ("running",),
        ]


def test_the_pages_close_killed_runs_but_none_that_goes_on(tmp_path: Path) -> None:
    from flows.cli.ui import close_killed

    warehouse = begun(tmp_path)
    statuses = "SELECT status FROM runs ORDER BY run_id"
    with run_lock(tmp_path, "nightly"):
        close_killed(tmp_path)
    with warehouse.read() as connection:
        assert connection.execute(statuses).fetchall() == [("completed",), ("running",)]
    close_killed(tmp_path)
    with warehouse.read() as connection:
        assert connection.execute(statuses).fetchall() == [("completed",), ("crashed",)]


def test_the_pages_make_no_warehouse(tmp_path: Path) -> None:
    from flows.cli.ui import close_killed

    close_killed(tmp_path)
    assert list(tmp_path.iterdir()) == []
