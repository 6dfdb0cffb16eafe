"""The whole loop through Prefect, with tiny models: what a run leaves behind, and what a second run doesn't do."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tiny_loop import recipe, run

from tasks.where import Where
from warehouse import report_rows
from warehouse.connect import Warehouse
from warehouse.queries import leaderboard, quality, run_rows

pytestmark = pytest.mark.usefixtures("prefect")


@pytest.fixture(scope="module")
def data(looped: Path) -> Path:
    """A BEIR folder whose queries share words with their passage."""
    return looped / "data"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, looped: Path) -> Path:
    return shutil.copytree(looped / "home", tmp_path_factory.mktemp("distill") / "home")


def rows(warehouse: Warehouse, sql: str) -> list[tuple[Any, ...]]:
    with warehouse.read() as connection:
        return connection.execute(sql).fetchall()


def facts(home: Path) -> dict[str, pl.DataFrame]:
    """What two runs must agree on: candidates, verdicts and measures, by texts instead of keys."""
    warehouse = Warehouse(home / "warehouse.duckdb")
    queries = {
        "candidates": "SELECT run, round, query_id, passage_id, rank, student_score, logit, verdict, reason "
        "FROM scored_candidates ORDER BY ALL",
        "measures": "SELECT system, split, measure, value FROM leaderboard ORDER BY ALL",
    }
    with warehouse.read() as connection:
        return {name: connection.sql(sql).pl() for name, sql in queries.items()}


def test_every_system_stands_beside_chance(home: Path) -> None:
    """Pitfalls 30 and 38: a figure without what chance, BM25 and the base model get on the same queries."""
    board = leaderboard(Warehouse(home / "warehouse.duckdb"), 1)
    systems = {"chance", "bm25", "base", "warm", "warm-long", "teacher", "round-1", "round-2", "round-1+teacher"}
    assert systems <= set(board["system"])
    assert set(board["split"]) == {"dev", "test"}
    assert board["chance"].null_count() == 0
    assert {"nDCG@10", "RR@10", "R@10", "R@50", "R@100"} <= set(board["measure"])


def test_every_student_is_diagnosed(home: Path) -> None:
    """What a round's student lost in its space is seen beside warm, which it is to beat, not beside the base alone."""
    noted = report_rows.noted(Warehouse(home / "warehouse.duckdb"), 1)
    ranks = noted.filter(pl.col("name") == "effective rank")
    assert ranks["system"].to_list() == ["base", "warm", "warm-long", "round-1", "round-2"]


def test_a_measure_can_be_worked_out_again_from_the_rankings(home: Path) -> None:
    """Which passage came first is only worth asking where it is the ranking that was measured."""
    again = """
    WITH firsts AS (
        SELECT run, system, split, query_id, min(rank) FILTER (label > 0 AND rank <= 10) AS first
        FROM ranked_passages GROUP BY ALL
    )
    SELECT count(*) > 0, count(DISTINCT system) >= 8, count(*) FILTER (abs(coalesce(1 / first, 0) - value) > 1e-9),
        count(*) = (SELECT count(*) FROM query_results WHERE measure = 'RR@10' AND system <> 'chance')
    FROM firsts JOIN query_results USING (run, system, split, query_id) WHERE measure = 'RR@10'
    """
    assert rows(Warehouse(home / "warehouse.duckdb"), again) == [(True, True, 0, True)]


def test_every_candidate_has_a_score_a_verdict_and_a_reason(home: Path) -> None:
    warehouse = Warehouse(home / "warehouse.duckdb")
    counts = rows(
        warehouse,
        "SELECT round, count(*), count(logit), count(verdict), count(reason) FROM scored_candidates GROUP BY round",
    )
    assert {row[0] for row in counts} == {1, 2}
    assert all(row[1] == 36 * 10 and row[1:] == (row[1],) * 4 for row in counts), counts
    verdicts = {row[0] for row in rows(warehouse, "SELECT DISTINCT verdict FROM scored_candidates")}
    assert verdicts <= {"negative", "approved", "positive", "ambiguous"}


def test_the_second_round_scores_only_what_is_new(home: Path) -> None:
    warehouse = Warehouse(home / "warehouse.duckdb")
    spent = {row[0]: row[1:] for row in rows(warehouse, "SELECT round, scored, reused FROM cost ORDER BY round")}
    assert spent[2][1] > 0, spent
    twice = rows(
        warehouse,
        "SELECT count(*) FROM (SELECT 1 FROM teacher_scores GROUP BY teacher_id, query_key, passage_key "
        "HAVING count(*) > 1)",
    )
    assert twice == [(0,)]


def test_the_warehouse_is_in_order(home: Path) -> None:
    found = quality(Warehouse(home / "warehouse.duckdb"))
    assert found.height == 0, found
    assert rows(Warehouse(home / "warehouse.duckdb"), "SELECT count(*) >= 8, sum(problems) FROM data_quality") == [
        (True, 0)
    ]


def test_no_dev_or_test_query_was_mined(home: Path) -> None:
    warehouse = Warehouse(home / "warehouse.duckdb")
    splits = rows(
        warehouse,
        "SELECT DISTINCT q.split FROM candidates c JOIN query_ids q USING (query_key)",
    )
    assert splits == [("train",)]


def test_the_export_is_the_winner(home: Path, tiny_student: Path) -> None:
    from sentence_transformers import SentenceTransformer

    current = json.loads((home / "data" / "artifacts" / "current" / "tiny.json").read_text())
    (exported,) = (home / "data" / "artifacts" / "export").iterdir()
    model, winner = (SentenceTransformer(str(path), device="cpu") for path in (exported / "model", current["path"]))
    texts = ["how to read", "sort the list"]
    assert abs(model.encode(texts) - winner.encode(texts)).max() <= 1e-5
    assert "nDCG@10" in (exported / "model" / "README.md").read_text()


def test_an_unchanged_run_makes_nothing_anew(home: Path, data: Path, tiny_student: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in home.rglob("artifact.json")}
    warehouse = Warehouse(home / "warehouse.duckdb")
    scores = rows(warehouse, "SELECT count(*) FROM teacher_scores")
    run(recipe(data, tiny_student), home)
    assert {path: path.stat().st_mtime_ns for path in home.rglob("artifact.json")} == before
    assert rows(warehouse, "SELECT count(*) FROM teacher_scores") == scores
    assert run_rows(warehouse).height == 2
    again, first = (facts_of(warehouse, number) for number in (2, 1))
    assert again.equals(first)


def test_another_objective_scores_nothing_anew_in_round_1(home: Path, data: Path, tiny_student: Path) -> None:
    """Pitfall 2 from the other side: what a setting does not touch is not done again."""
    changed = recipe(data, tiny_student, rounds=1)
    training = changed.training.model_copy(update={"lr": 5e-4})
    warehouse = Warehouse(home / "warehouse.duckdb")
    made = {path.parent.name for path in home.rglob("artifact.json")}
    run(changed.model_copy(update={"training": training}), home)
    new = [json.loads(path.read_text()) for path in home.rglob("artifact.json") if path.parent.name not in made]
    assert {"train"} <= {each["step"] for each in new}
    assert not {"mine", "teach", "denoise", "warmup"} & {each["step"] for each in new}
    assert quality(warehouse).height == 0


def facts_of(warehouse: Warehouse, number: int) -> pl.DataFrame:
    board = leaderboard(warehouse, number)
    return board.select("system", "split", "measure", "value").sort("system", "split", "measure")


def test_two_fresh_folders_agree(home: Path, data: Path, tiny_student: Path, tmp_path: Path) -> None:
    """Pitfall 20: other negatives in every run."""
    run(recipe(data, tiny_student, rounds=1), tmp_path)
    first, other = facts(home), facts(tmp_path)
    candidates = first["candidates"].filter((pl.col("run") == 1) & (pl.col("round") == 1))
    assert candidates.height > 0
    assert candidates.equals(other["candidates"])
    measures = facts_of(Warehouse(home / "warehouse.duckdb"), 1)
    again = facts_of(Warehouse(tmp_path / "warehouse.duckdb"), 1)
    assert set(measures["system"]) - set(again["system"]) == {"round-2", "round-2+teacher"}
    assert measures.filter(pl.col("system").is_in(again["system"].implode())).equals(again)


def test_a_second_run_at_once_is_cancelled_and_names_the_first(home: Path, data: Path, tiny_student: Path) -> None:
    """Pitfall 44: two runs at once writing one DuckDB file."""
    from flows.distill import distill
    from flows.locks import run_lock

    with run_lock(home, "first"):
        where = Where(home=home, device="cpu", precision="fp32", threads=1)
        state: Any = distill(recipe(data, tiny_student), where, return_state=True)
    assert state.is_cancelled()
    assert "'first'" in (state.message or "")
