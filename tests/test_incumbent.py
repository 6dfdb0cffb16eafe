"""Which student is in use: named by runs, by hand and taken back, with who, when and why."""

import json
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from copies import copied
from test_promote import contender

from tasks.artifacts import Artifact, make_artifact
from tasks.promote.by_hand import promote_by_hand
from tasks.promote.incumbent import incumbent_file, name_incumbent, roll_back
from tasks.record import record
from tasks.refs import Run, StudentRef
from tasks.search import _current
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.errors import WarehouseError
from warehouse.load import load_metrics, start_run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    copied(five_runs, tmp_path)
    return Run(id=4, recipe="sample", where=Where(home=tmp_path))


def five_runs(folder: Path) -> None:
    for _ in range(5):
        start_run(Warehouse(folder / "warehouse.duckdb"), "distill", "sample", "{}", {})


def named(run: Run, system: str, number: int, **how: Any) -> Path:
    """Put a student in use for a run; returns the file that says so."""
    folder = run.where.home / system
    folder.mkdir(exist_ok=True)
    student = StudentRef(system=system, fingerprint=f"print of {system}", path=folder)
    measured = Artifact(step="evaluate", fingerprint="f", path=run.where.home / "measured")
    return name_incumbent(run.model_copy(update={"id": number}), student, measured, **how)


def decisions(run: Run) -> list[tuple[Any, ...]]:
    sql = "SELECT system, run_id, made_by, why FROM promotions ORDER BY promotion_id"
    with Warehouse(run.where.warehouse_path).read() as connection:
        return connection.execute(sql).fetchall()


def test_the_incumbent_is_named_in_a_file(run: Run) -> None:
    named(run, "warm", 3)
    path = named(run, "round-2", 4)
    assert path == run.where.artifacts_path / "current" / "sample.json"
    current = json.loads(path.read_text())
    assert (current["system"], current["fingerprint"], current["run"]) == ("round-2", "print of round-2", 4)
    assert current["path"] == str(run.where.home / "round-2")
    assert list(path.parent.iterdir()) == [path]


def test_every_decision_is_kept_with_who_and_why(run: Run) -> None:
    """Months later nobody knows why another student is served than the one that the run chose."""
    named(run, "warm", 1, why="it was better")
    named(run, "warm", 2, why="unchanged")
    named(run, "round-1", 2, by="hand", why="asked for by support")
    named(run, "round-1", 2, by="hand", why="asked for again")
    roll_back(run.where, "sample", "it was slow")
    assert decisions(run) == [
        ("warm", 1, "run", "it was better"),
        ("round-1", 2, "hand", "asked for by support"),
        ("round-1", 2, "hand", "asked for again"),
        ("warm", 1, "rollback", "it was slow"),
    ]
    with Warehouse(run.where.warehouse_path).read() as connection:
        (row,) = connection.execute("SELECT count(*), count(who), count(decided_at) FROM promotions").fetchall()
        (now,) = connection.execute("SELECT system, made_by FROM incumbents WHERE recipe = 'sample'").fetchall()
    assert row == (4, 4, 4)
    assert now == ("warm", "rollback")


@pytest.mark.parametrize("how", ["hand", "rollback"])
def test_a_choice_by_hand_stands_until_students_are_compared_anew(
    run: Run, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The run of every Monday finds everything as it was, and would put its own student back without a word."""
    named(run, "warm", 1, compared_at=time.time())
    path = named(run, "round-1", 2, by="hand", why="asked for")
    if how == "rollback":
        roll_back(run.where, "sample")
    stands, entered = path.read_text(), decisions(run)
    named(run, "round-2", 3, compared_at=time.time() - 60)
    assert (path.read_text(), decisions(run)) == (stands, entered)
    assert "stays in use" in caplog.text and "compared nothing anew; it came to round-2" in caplog.text
    named(run, "round-2", 4, compared_at=time.time() + 60)
    assert json.loads(path.read_text())["system"] == "round-2"
    named(run, "warm", 5, compared_at=time.time() - 60)
    assert json.loads(path.read_text())["system"] == "warm", "what a run chose does not bind other runs"


def test_rolling_back_names_the_student_before_and_ends_at_the_first(run: Run) -> None:
    for number, system in enumerate(("warm", "round-1", "round-1", "round-2"), start=1):
        path = named(run, system, number)
    gone, back = roll_back(run.where, "sample")
    assert (gone["system"], back["system"], back["run_id"]) == ("round-2", "round-1", 2), "an unchanged run adds none"
    assert json.loads(path.read_text())["system"] == "round-1"
    assert roll_back(run.where, "sample")[1]["system"] == "warm"
    with pytest.raises(LookupError, match="warm of run 1 was the first in use"):
        roll_back(run.where, "sample")
    with pytest.raises(LookupError, match="there are sample"):
        roll_back(run.where, "other")


def test_what_was_taken_back_is_not_gone_back_to(run: Run) -> None:
    """Back, forward, back again: the student that was taken back would return."""
    for system in ("warm", "round-1"):
        named(run, system, 1)
    roll_back(run.where, "sample")
    named(run, "round-2", 2)
    assert roll_back(run.where, "sample")[1]["system"] == "warm"


def test_a_student_that_is_gone_is_not_gone_back_to(run: Run) -> None:
    named(run, "warm", 1)
    path = named(run, "round-1", 1)
    (run.where.home / "warm").rmdir()
    before, entered = path.read_text(), decisions(run)
    with pytest.raises(FileNotFoundError, match="the folder of warm of run 1 is gone"):
        roll_back(run.where, "sample")
    assert (path.read_text(), decisions(run)) == (before, entered)


def test_search_follows_the_student_in_use(run: Run) -> None:
    for number, system in enumerate(("warm", "round-1"), start=1):
        named(run, system, number)
    assert _current(run.where, "sample").system == "round-1"
    roll_back(run.where, "sample")
    assert _current(run.where, "sample").fingerprint == "print of warm"


def test_a_student_of_no_run_is_not_put_in_use(run: Run) -> None:
    with pytest.raises(WarehouseError, match="no run 77"):
        named(run, "warm", 77)
    assert not incumbent_file(run.where, "sample").exists()


def test_a_round_can_be_put_in_use_by_hand(tmp_path: Path) -> None:
    where = Where(home=tmp_path)
    warehouse = Warehouse(where.warehouse_path)
    number = start_run(warehouse, "distill", "sample", "{}", {})
    run = Run(id=number, recipe="sample", where=where)

    def train(folder: Path) -> dict[str, str]:
        (folder / "model").mkdir()
        return {"student": "abc"}

    trained = make_artifact(run.root, "train", 1, {}, {}, train)
    measured = contender(run.root, "round-1", [0.5]).measured
    for place, artifact in ((1, trained), (1, measured)):
        record(run, artifact, place)
    columns = ["system", "split", "measure", "value", "chance", "queries"]
    rows = [(system, "dev", "nDCG@10", value, 0.1, 1) for system, value in (("round-1", 0.4), ("base", 0.5))]
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(tmp_path / "metrics.parquet")
    load_metrics(warehouse, number, 2, tmp_path / "metrics.parquet", "metrics")
    done = promote_by_hand(where, number, 1)
    current = json.loads(done.path.read_text())
    assert (current["system"], current["fingerprint"], current["by"]) == ("round-1", "abc", "hand")
    assert current["path"] == str(trained.path / "model")
    assert done.sentence == "nDCG@10 on dev: round-1 0.400, base 0.500"
    with pytest.raises(LookupError, match=r"no student of round 7; there are \[1\]"):
        promote_by_hand(where, number, 7)
    with pytest.raises(LookupError, match="no run 9"):
        promote_by_hand(where, 9, 1)


def test_a_recipe_name_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    run = Run(id=1, recipe="../escape", where=Where(home=tmp_path))
    student = StudentRef(system="base", fingerprint="a", path=tmp_path)
    with pytest.raises(ValueError, match="escape"):
        name_incumbent(run, student, Artifact(step="evaluate", fingerprint="f", path=tmp_path))
