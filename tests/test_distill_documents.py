"""The whole loop on documents that are cut into passages."""

import json
from pathlib import Path
from typing import Any

import pytest
from sources import write_words
from tiny_loop import QUERIES, recipe, run

from warehouse.connect import Warehouse
from warehouse.queries import leaderboard, quality

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect")]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory, tiny_student: Path) -> Warehouse:
    data = write_words(tmp_path_factory.mktemp("beir") / "data", QUERIES)
    lengthen(data / "corpus.jsonl")
    source = {"path": str(data), "chunk": {"tokens": 8, "overlap": 2}}
    return run(recipe(data, tiny_student, source=source, rounds=1), tmp_path_factory.mktemp("home"))


def lengthen(path: Path) -> None:
    """Put as many words again before every document, so that the answer is in no first part."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for number, row in enumerate(rows):
        row["text"] = " ".join([f"part{number}"] * 8 + [row["text"]])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def rows(warehouse: Warehouse, sql: str) -> list[tuple[Any, ...]]:
    with warehouse.read() as connection:
        return connection.execute(sql).fetchall()


def test_a_run_on_cut_documents_measures_every_system(warehouse: Warehouse) -> None:
    board = leaderboard(warehouse, 1)
    assert {"chance", "bm25", "hybrid", "base", "warm", "teacher", "round-1"} <= set(board["system"])
    found = quality(warehouse)
    assert found.height == 0, found
    parts = "SELECT count(*), count(DISTINCT document) FROM passage_ids"
    ((passages, documents),) = rows(warehouse, parts)
    assert passages >= 2 * documents > 0


def test_no_ranking_has_a_document_twice_and_the_measures_are_those_of_documents(warehouse: Warehouse) -> None:
    """Worked out again from the rankings: the first passage of a labelled document, at the rank it is stored with."""
    again = """
    WITH firsts AS (
        SELECT run, system, split, query_id, min(rank) FILTER (label > 0 AND rank <= 10) AS first
        FROM ranked_passages GROUP BY ALL
    )
    SELECT count(*) > 0, count(*) FILTER (abs(coalesce(1 / first, 0) - value) > 1e-9)
    FROM firsts JOIN query_results USING (run, system, split, query_id) WHERE measure = 'RR@10'
    """
    assert rows(warehouse, again) == [(True, 0)]
    twice = """
    SELECT system, query_id, document FROM ranked_passages JOIN passage_ids ON external_id = passage_id
    GROUP BY ALL HAVING count(*) > 1
    """
    assert rows(warehouse, twice) == []


def test_no_part_of_a_labelled_document_is_a_candidate(warehouse: Warehouse) -> None:
    mined = """
    SELECT count(*), count(*) FILTER (p.document IN (
        SELECT o.document FROM labels JOIN passage_ids AS o USING (passage_key) JOIN query_ids AS q USING (query_key)
        WHERE q.external_id = c.query_id AND labels.grade > 0
    )) FROM scored_candidates AS c JOIN passage_ids AS p ON p.external_id = c.passage_id
    WHERE c.label IS NULL OR c.label = 0
    """
    ((candidates, known),) = rows(warehouse, mined)
    assert candidates > 0
    assert known == 0
