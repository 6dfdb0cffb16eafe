"""Pseudo-labels: queries that nobody labelled are mined, scored, given a positive by the teacher, and trained on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sources import write_words
from tiny_loop import QUERIES, recipe, run

from tasks.artifacts import Artifact
from warehouse.connect import Warehouse
from warehouse.texts import text_hash

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect")]

EXTRA = [f"find passage {number}" for number in range(6)]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory, tiny_student: Path) -> Warehouse:
    """A teacher of four steps is sure of nothing, so what it has to be sure of is little."""
    data = write_words(tmp_path_factory.mktemp("beir") / "data", QUERIES)
    with (data / "queries.jsonl").open("a") as file:
        file.writelines(json.dumps({"_id": f"x{n}", "text": text}) + "\n" for n, text in enumerate(EXTRA))
    denoising = {"policy": "promote", "promote_above": 0.001, "approve": 0.0009, "drop_below": 0.0008}
    mining = {"depth": 10, "last_rank": 10, "unlabelled": True}
    training = {"steps": 4, "batch": 8, "list_length": 4, "objectives": [{"name": "contrastive"}]}
    changed = recipe(data, tiny_student, rounds=1, mining=mining, denoising=denoising, training=training)
    return run(changed, tmp_path_factory.mktemp("home"))


def rows(warehouse: Warehouse, sql: str) -> list[tuple[Any, ...]]:
    with warehouse.read() as connection:
        return connection.execute(sql).fetchall()


def test_each_unlabelled_query_gets_its_best_candidate_as_positive(warehouse: Warehouse) -> None:
    found = rows(
        warehouse,
        "SELECT query_id, count(*), count(logit), count(*) FILTER (verdict = 'promoted'), "
        "max_by(verdict, probability), bool_or(label IS NOT NULL) "
        "FROM scored_candidates WHERE query_id LIKE 'x%' GROUP BY ALL ORDER BY ALL",
    )
    assert found == [(f"x{number}", 10, 10, 1, "promoted", False) for number in range(len(EXTRA))]


def test_no_labelled_query_is_given_a_positive_and_no_measured_one_is_mined(warehouse: Warehouse) -> None:
    promoted = "SELECT count(*) FROM scored_candidates WHERE verdict = 'promoted' AND query_id NOT LIKE 'x%'"
    assert rows(warehouse, promoted) == [(0,)]
    splits = "SELECT DISTINCT q.split FROM scored_candidates JOIN query_ids AS q ON external_id = query_id ORDER BY ALL"
    assert rows(warehouse, splits) == [("",), ("train",)]


def test_the_promoted_pairs_are_in_what_the_student_learns_from(warehouse: Warehouse) -> None:
    """Promoted and then left out of training would look right in every view and teach nothing."""
    from models.lists import Role
    from models.runtime import configure
    from models.student import Student
    from tasks.train.arrays import Texts, pair_keys, training_lists

    made = {
        step: Artifact(step=step, fingerprint=fingerprint, path=Path(path))
        for step, fingerprint, path in rows(warehouse, "SELECT step, fingerprint, path FROM artifacts ORDER BY made_at")
    }
    verdicts = pl.read_parquet(made["denoise"].file("verdicts.parquet"))
    ((base,),) = rows(warehouse, "SELECT path FROM models WHERE role = 'student' ORDER BY registered_at LIMIT 1")
    lists = training_lists(made["ingest"], verdicts, Student.load(Path(base), configure("cpu", "fp32", 1)))
    texts = Texts.read(made["ingest"])
    asked = texts.query_rows(pl.Series([text_hash(text) for text in EXTRA]))
    for query in asked:
        place = int((lists.queries == query).nonzero()[0][0])
        inside = slice(int(lists.starts[place]), int(lists.starts[place + 1]))
        assert (lists.roles[inside] == Role.POSITIVE).sum() == 1
    passed = verdicts.filter(pl.col("verdict").is_in(["approved", "ambiguous"]))
    assert passed.height > 0
    kept = np.load(made["train"].file("approved.npy"))
    assert kept.tolist() == pair_keys(texts, passed).tolist(), "what batches passed over stays with the student"
