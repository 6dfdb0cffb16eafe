"""docs/sql.md is what the schema says, and its questions are answered as a person would work them out."""

import re
import runpy
import shutil
from math import exp
from pathlib import Path
from typing import Any

import cookbook_samples as cookbook
import pytest
import warehouse_samples as sample

from warehouse.connect import Warehouse
from warehouse.queries import quality, select

ROOT = Path(__file__).parents[1]
WRITER = runpy.run_path(str(ROOT / "docs" / "write.py"))
RECIPES = {recipe.name: recipe for recipe in WRITER["recipes"]()}

FIVE: list[tuple[Any, ...]] = [(0.05, 5, 2, 0.4, 0, 2, 2), (0.1, 5, 2, 0.4, 0, 2, 2), (0.2, 5, 2, 0.4, 0, 2, 1)]
ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    "01_standing": [("base", 0.5, 0.1, 1), ("round-2", 0.25, 0.1, 1), ("chance", 0.1, 0.1, 1)],
    "02_two_runs": [
        ("base", "test", 0.5, 0.5),
        ("chance", "test", None, 0.1),
        ("round-1", "test", 0.75, None),
        ("round-2", "test", None, 0.25),
    ],
    "03_got_worse": [("q3", "sea", 0.5, 0.25, "d5", "d6", "tall tree")],
    "04_surest_false_negatives": [("apple", "d2", "green apple", 1, 0.98)],
    "05_doubted_positives": [
        ("q1", "apple", "d1", "Fruit red apple", 1, -1.0, 0.119),
        ("q2", "sky", "d3", "blue sky", 2, 3.0, 0.998),
    ],
    "06_preferred": [("apple", "Fruit red apple", -1.0, "green apple", 2.0, 1)],
    "07_thresholds": FIVE,
    "09_newly_found": [(1, 5, 5, 3, 1, 1), (2, 4, 2, 1, 0, 1)],
    "10_hubs": [
        ("d2", "green apple", 2, 1.0, 0.494, 1),
        ("d3", "blue sky", 1, 2.0, 0.047, 0),
        ("d5", "deep sea", 1, 2.0, 0.5, 0),
        ("d6", "tall tree", 1, 3.0, 0.002, 0),
    ],
    "11_cost": [
        (1, 1, 8, 6, 2, 42, 2.5, 10.0),
        (2, 0, 0, 0, 0, 0, 0.0, 5.0),
        (2, 1, 9, 7, 2, 49, 2.5, 7.5),
        (2, 2, 9, 2, 7, 14, 2.5, 15.0),
    ],
    "13_few_negatives": [("q2", "sky", 2, 1, 0, 1), ("q1", "apple", 3, 2, 1, 0)],
    "14_truncated": [("big", "t1", 8, 0, 0.0, 7, 7), ("small", "t2", 9, 1, 11.11, 7, 7)],
    "15_disagreements": [("sky", "deep sea", 2, 1, 2, 0.0, "ambiguous")],
    "16_review_queue": [("sky", "deep sea", 2, 0.5), ("sky", "tall tree", 1, 0.881)],
    "17_histogram": [
        (-3.0, -2.5, 1, 0, 0),
        (-2.5, -2.0, 1, 0, 0),
        (-1.5, -1.0, 1, 0, 0),
        (-1.0, -0.5, 0, 0, 1),
        (0.0, 0.5, 1, 0, 0),
        (2.0, 2.5, 1, 1, 0),
        (3.0, 3.5, 0, 0, 1),
    ],
    "18_coverage": [
        (1, 1, "big", 2, 6, 6, 1.0, 6, 2, 2),
        (2, 1, "small", 2, 5, 5, 1.0, 5, 2, 2),
        (2, 2, "small", 2, 4, 4, 1.0, 4, 2, 2),
    ],
    "19_verdicts": [
        (1, "negative", 3, 0.002, 0.047, "by hand"),
        (1, "ambiguous", 1, 0.5, 0.5, "by hand"),
        (1, "approved", 1, 0.982, 0.982, "by hand"),
        (2, "negative", 2, 0.007, 0.018, "by hand"),
        (2, "ambiguous", 1, 0.881, 0.881, "by hand"),
        (2, "approved", 1, 0.982, 0.982, "by hand"),
    ],
    "20_lists": [
        (
            "apple",
            ["d1", "d2", "d3", "d6"],
            [-1.0, 2.0, -1.5, -3.0],
            ["positive", "approved", "negative", "negative"],
        ),
        ("sky", ["d3", "d2", "d5"], [3.0, -2.5, 0.0], ["positive", "negative", "ambiguous"]),
    ],
    "21_top": [
        ("q1", 1, "d2", 2.0, 0.982),
        ("q1", 2, "d1", -1.0, 0.119),
        ("q1", 3, "d3", -1.5, 0.047),
        ("q2", 1, "d3", 3.0, 0.998),
        ("q2", 2, "d6", 1.0, 0.881),
        ("q2", 3, "d5", 0.0, 0.5),
    ],
    "22_training_course": [(2, "train", 0, None, 0.5, 0.0), (2, "train", 10, 0.2, 0.6, 2.0)],
    "23_promotions": [(2, -0.25, "base stays")],
    "24_same_text": [("toy", 2, "d1, d4", "Fruit red apple")],
    "25_age": [(0.0, 2, "other", "running")],
    "26_health": [],
    "27_in_use": [
        ("toy", 2, "round-2", "hand", "ann", "readers say so", True),
        ("toy", 2, "base", "run", "somebody", "base stays", False),
    ],
}


@pytest.fixture(scope="module")
def wh(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return cookbook.play(tmp_path_factory.mktemp("cookbook"))


def answered(wh: Warehouse, name: str) -> list[tuple[Any, ...]]:
    return select(wh, RECIPES[name].sql)[1]


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_question_of_the_cookbook_gets_the_answer_worked_out_by_hand(wh: Warehouse, name: str) -> None:
    found, wanted = answered(wh, name), ANSWERS[name]
    assert len(found) == len(wanted)
    for got, right in zip(found, wanted, strict=True):
        assert len(got) == len(right)
        for one, other in zip(got, right, strict=True):
            assert one == (pytest.approx(other, abs=6e-4) if isinstance(other, float) else other), (got, right)


def test_two_teachers_disagree_most_where_their_probabilities_do(wh: Warehouse) -> None:
    found = answered(wh, "08_two_teachers")
    query, passage, first, one, second, other = found[0]
    assert (query, passage, first, second) == ("apple", "Fruit red apple", "t1", "t2")
    assert (one, other) == (pytest.approx(1 / (1 + exp(-1)), abs=6e-4), pytest.approx(1 / (1 + exp(2)), abs=6e-4))
    gaps = [abs(row[3] - row[5]) for row in found]
    assert len(gaps) == 8 and gaps == sorted(gaps, reverse=True)


def test_the_slowest_steps_are_those_of_the_newest_run_and_add_up(wh: Warehouse) -> None:
    found = answered(wh, "12_slowest_steps")
    steps = {(number, step) for number, step, _, _ in found}
    assert {(0, "evaluate"), (1, "mine"), (1, "score"), (2, "promote")} <= steps
    assert all(seconds == 2.5 for _, _, seconds, _ in found)
    assert all(percent == pytest.approx(100 / 11, abs=0.06) for *_, percent in found)


def test_every_question_is_tested_and_recorded() -> None:
    assert len(RECIPES) >= 15
    assert set(RECIPES) == {*ANSWERS, "08_two_teachers", "12_slowest_steps"}
    assert {file.stem for file in (ROOT / "docs" / "cookbook").glob("*.txt")} == set(RECIPES)
    assert all(recipe.title.endswith("?") for recipe in RECIPES.values())


def test_a_recorded_answer_has_the_columns_of_its_query(wh: Warehouse) -> None:
    for recipe in RECIPES.values():
        heading = recipe.answer.read_text("utf-8").splitlines()[0]
        if heading != "(no rows)":
            assert heading.split() == select(wh, recipe.sql)[0], recipe.name


def test_the_page_is_what_the_schema_and_the_cookbook_say() -> None:
    """A reference that somebody keeps by hand is wrong after the next migration."""
    assert (ROOT / "docs" / "sql.md").read_text("utf-8") == WRITER["page"](), "run: python docs/write.py"


def test_the_page_tells_how_each_program_opens_the_file() -> None:
    page = (ROOT / "docs" / "sql.md").read_text("utf-8")
    for name in ("remine sql", "duckdb -readonly", "read_only=True", "DBeaver", "Metabase", "snapshot_info"):
        assert name in page
    assert len(re.findall(r"^#### ", page, re.MULTILINE)) == 22 + 26 + 2


def test_both_runs_leave_a_healthy_warehouse(wh: Warehouse) -> None:
    assert quality(wh).rows() == []


def test_every_view_and_macro_answers(wh: Warehouse, tmp_path: Path) -> None:
    """DuckDB binds a view only when it is asked, so a wrong one goes unnoticed until then."""
    reviewed = Warehouse(Path(shutil.copy(wh.path, tmp_path)))
    with reviewed.write() as con:
        con.execute(
            "INSERT INTO labels SELECT corpus, query_key, passage_key, 0, 'train', 'review', now(), NULL "
            "FROM candidate_facts WHERE verdict = 'ambiguous'"
        )
    views = [name for (name,) in sample.rows(wh, "SELECT view_name FROM duckdb_views() WHERE NOT internal")]
    assert {"scored_candidates", "query_results", "ranked_passages", "snapshot_info", "agreement"} <= set(views)
    with reviewed.read() as con:
        empty = [view for view in views if not con.execute(f"FROM {view} LIMIT 1").fetchall()]
    assert empty == []


def test_a_column_that_can_be_null_says_when(wh: Warehouse) -> None:
    """An empty cell means something else in every column."""
    tables = sample.rows(
        wh,
        "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal AND is_nullable "
        "AND table_name IN (SELECT table_name FROM duckdb_tables() WHERE NOT internal)",
    )
    assert len(tables) > 10
    silent = [(table, column) for table, column, comment in tables if "NULL" not in comment]
    views = sample.rows(
        wh,
        "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal "
        "AND table_name IN (SELECT view_name FROM duckdb_views() WHERE NOT internal)",
    )
    with wh.read() as con:
        for view, column, comment in views:
            (nulls,) = con.execute(f"SELECT count(*) FROM {view} WHERE {column} IS NULL").fetchall()[0]
            if nulls and "NULL" not in comment:
                silent.append((view, column))
    assert silent == []


def test_a_number_says_its_scale(wh: Warehouse) -> None:
    """Pitfall 7: logits and probabilities mixed."""
    words = {"logit": "logit", "probability": "0 to 1", "tokens": "Tokens", "seconds": "Seconds", "rank": "from 1"}
    told = sample.rows(wh, "SELECT table_name, column_name, lower(comment) FROM duckdb_columns() WHERE NOT internal")
    wrong = [
        (table, column)
        for table, column, comment in told
        for name, word in words.items()
        if column.split("_")[-1] == name and word.lower() not in comment
    ]
    assert wrong == []
