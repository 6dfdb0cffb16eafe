"""A refresh of what is not one tower on whole passages: documents that are cut, two towers, LoRA, a guard set."""

import json
from pathlib import Path
from typing import Any

import pytest
from sources import write_words
from tiny_loop import QUERIES, recipe, run

from flows.recipe import Recipe
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.queries import quality

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect")]

CHANGES: dict[str, dict[str, Any]] = {
    "chunk": {"source": {"chunk": {"tokens": 8, "overlap": 2}}},
    "towers": {"student": {"towers": 2}},
    "lora": {"student": {"lora": {"rank": 4}}},
    "guard": {"promotion": {"guard_tolerance": 0.5}},
}


def asked(kind: str, home: Path, student: Path) -> Recipe:
    """The tiny recipe with one round, and what the kind changes."""
    warmup = {"steps": 4, "batch": 8, "lr": 1e-3, "evaluate_every": 2, "control": False}
    plain = recipe(home / "data", student, rounds=1, warmup=warmup, refresh={"share": 1.0, "level": 0.9})
    given = plain.model_dump(mode="json")
    for section, changes in CHANGES[kind].items():
        given[section].update(changes)
    if kind == "guard":
        given["promotion"]["guard"] = str(write_words(home / "general", 15))
    return Recipe.model_validate(given)


def changed(data: Path) -> None:
    """A document with its query comes in, one that is labelled leaves, one is edited."""
    path = data / "corpus.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["_id"] != "d3"]
    rows[0]["text"] += " and something new at its end that makes it longer"
    rows.append({"_id": "n1", "title": "", "text": "a green river behind a table with a number and a long last row"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with (data / "queries.jsonl").open("a") as queries, (data / "qrels" / "train.tsv").open("a") as labels:
        queries.write(json.dumps({"_id": "m1", "text": "how to green river number"}) + "\n")
        labels.write("m1\tn1\t1\n")


@pytest.mark.parametrize("kind", CHANGES)
def test_new_data_is_learned_from_and_then_nothing_is_left_to_do(kind: str, tiny_student: Path, tmp_path: Path) -> None:
    from flows.refresh import refresh

    write_words(tmp_path / "data", QUERIES)
    given = asked(kind, tmp_path, tiny_student)
    warehouse = run(given, tmp_path)
    changed(tmp_path / "data")
    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1)
    state: Any = refresh(given, where, return_state=True)
    assert state.is_completed(), state
    assert quality(warehouse).height == 0
    told = dict(rows(warehouse, "SELECT step, count(*) FROM rounds WHERE run_id = 2 GROUP BY step"))
    assert {"ingest", "encode", "mine", "score", "denoise", "train", "evaluate", "promote", "export"} <= set(told)
    assert rows(warehouse, "SELECT DISTINCT corpus FROM runs") == [("data",)]
    ((retired,),) = rows(warehouse, "SELECT count(*) FROM labels WHERE until IS NOT NULL")
    assert retired >= 1, "of the passage that has left"
    exported = next(path for path in (tmp_path / "data/artifacts/export").iterdir() if path.is_dir())
    assert loaded(exported / "model").encode(["how to read"]).shape[0] == 1
    if kind == "guard":
        guarded = "SELECT DISTINCT system FROM leaderboard WHERE run = 2 AND split = 'guard' ORDER BY system"
        assert rows(warehouse, guarded) == [("incumbent",), ("round-1",)]
    again: Any = refresh(given, where, return_state=True)
    assert again.result().sentence == "Nothing has changed since run 2."


def rows(warehouse: Warehouse, sql: str) -> list[tuple[Any, ...]]:
    with warehouse.read() as connection:
        return connection.execute(sql).fetchall()


def loaded(path: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(path), device="cpu")
