"""A run whose teacher does not pass the gate: everything before it is used, nothing after it is made."""

import json
from pathlib import Path
from typing import Any

import pytest
from sources import write_beir, write_words
from tiny import make_teacher
from tiny_loop import recipe, run

from flows.plan import plan_rounds
from flows.planned_steps import Steps
from flows.standing import Rounds
from tasks.plan.data import Data
from tasks.promote.deciding import Decision
from tasks.where import Where
from warehouse.connect import Warehouse


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, tiny_student: Path, prefect: str) -> Path:
    root = tmp_path_factory.mktemp("gated")
    run(stopping(root, tiny_student), root)
    return root


def stopping(root: Path, student: Path) -> Any:
    """A teacher with a random head that doesn't know anything, and a gate that holds."""
    data = root / "data-in"
    if not data.exists():
        write_words(data, 60)
        general = write_beir(root / "general")
        (general / "qrels" / "train.tsv").unlink()
        make_teacher(root / "teacher", seed=7)
    teacher = {"model": str(root / "teacher"), "gate": "stop", "blend": [1.0]}
    promotion = {"guard": str(root / "general"), "guard_tolerance": 0.05}
    return recipe(data, student, teacher=teacher, evaluation={"rerank_depth": 10}, promotion=promotion)


def rows(home: Path, sql: str) -> list[tuple[Any, ...]]:
    with Warehouse(home / "warehouse.duckdb").read() as connection:
        return connection.execute(sql).fetchall()


def test_it_ends_whole_and_made_no_round(home: Path) -> None:
    """Pitfalls 13 and 27: a random head scores in bulk, and the student gets worse."""
    assert rows(home, "SELECT status FROM runs") == [("completed",)]
    assert rows(home, "SELECT max(round) FROM rounds") == [(0,)]
    assert rows(home, "SELECT count(*) FROM verdicts") == [(0,)]
    ((difference,),) = rows(home, "SELECT value FROM diagnostics WHERE name = 'gate nDCG@10 dev difference'")
    assert difference < 0


def test_the_best_student_before_it_is_exported_and_named(home: Path) -> None:
    (model,) = (home / "data" / "artifacts" / "export").iterdir()
    assert (model / "model" / "README.md").exists()
    current = json.loads((home / "data" / "artifacts" / "current" / "tiny.json").read_text())
    dev = dict(rows(home, "SELECT system, value FROM leaderboard WHERE split = 'dev' AND measure = 'nDCG@10'"))
    students = ("base", "warm", "warm-long")
    assert dev[current["system"]] == max(dev[name] for name in students)


def test_the_report_says_why_and_the_three_ways_out(home: Path) -> None:
    (page,) = (home / "data" / "artifacts" / "report").glob("*/report.html")
    text = page.read_text("utf-8")
    heading = text[text.index("<h1>") : text.index("</h1>")]
    assert "no round was made: the teacher is not proven to know more than warm" in heading
    assert all(way in text for way in ("teacher.model", "more labels", "teacher.gate"))
    assert text.count("The teacher re-ranking what warm found has") == 1, "said once, above the figures"
    assert (
        "no student was distilled"
        in next((home / "data" / "artifacts" / "export").glob("*/model/README.md")).read_text()
    )


def test_every_student_is_measured_on_the_guard_set_and_nothing_else_changes_hands(home: Path) -> None:
    """A guard set whose labels were trained on, or whose figures stood beside those of test, would guard nothing."""
    asked = "SELECT system, queries FROM leaderboard WHERE split = 'guard' AND measure = 'nDCG@10' ORDER BY system"
    guarded = rows(home, asked)
    assert guarded == [("base", 1), ("warm", 1), ("warm-long", 1)]
    assert rows(home, "SELECT corpus FROM runs") == [("data-in",)]
    assert rows(home, "SELECT count(*) FROM rounds WHERE step = 'ingest'") == [(1,)]
    outcomes = rows(home, "SELECT count(*) FROM diagnostics WHERE name = 'promotion nDCG@10 guard difference'")
    assert outcomes == [(2,)]
    (page,) = (home / "data" / "artifacts" / "report").glob("*/report.html")
    assert "of the guard set" in page.read_text("utf-8") and "guard nDCG@10" in page.read_text("utf-8")


def test_a_plan_knows_that_no_round_will_be_made(home: Path, tiny_student: Path) -> None:
    where = Where(home=home, device="cpu", precision="fp32", threads=1)
    wanted = stopping(home, tiny_student)
    steps = Steps(wanted, where, Data.read(where, wanted.source))
    assert plan_rounds(steps, wanted)
    assert {line.round for line in steps.lines.lines} == {0}
    assert [line.step for line in steps.lines.lines if not line.done] == []
    assert sum(line.step == "guard" for line in steps.lines.lines) == 7


def test_rounds_end_where_the_student_has_caught_up(tmp_path: Path, tiny_student: Path) -> None:
    write_words(tmp_path / "data", 60)
    wanted = recipe(tmp_path / "data", tiny_student, rounds=5, patience=5)
    better = Decision.model_construct(promoted=True)
    made = []
    rounds = Rounds(wanted, teaches=True)
    for number in rounds:
        made.append(number)
        rounds.settle(better, teaches=number < 3)
    assert made == [1, 2, 3]
    assert list(Rounds(wanted, teaches=False)) == []
