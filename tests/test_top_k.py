"""The macro `top_k` against ordering every score in Python: awkward numbers, equals, several corpora; ids in views."""

import numpy as np
import pytest
import warehouse_samples as sample

from warehouse.connect import Warehouse
from warehouse.load import load_corpus, register_model, start_run

SMALLEST = float(np.finfo(np.float32).smallest_subnormal)
LARGEST = float(np.finfo(np.float32).max)
# By passage in the order of their keys.
LOGITS = {
    "q1": [LARGEST, -LARGEST, SMALLEST, -SMALLEST, 0.0],
    "q2": [-1.25, -1.5, -1.25, -100.0, -1.5],
    "q3": [-0.0, 0.0, 7.5, -0.0, 0.0],
}


@pytest.fixture(scope="module")
def wh(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Two teachers that score every pair; two corpora have the same queries, one of them fewer passages."""
    folder = tmp_path_factory.mktemp("top_k")
    opened, run = sample.open_warehouse(folder)
    fewer = {name: text for name, text in sample.PASSAGES.items() if name not in ("d2", "d4")}
    labels = [label for label in sample.LABELS if label[1] in fewer]
    other = start_run(opened, "distill", "sample", "{}", {})
    load_corpus(opened, other, "copy", sample.corpus(folder / "copy", fewer, labels=labels), "corpus-2")
    register_model(opened, "teacher", "big", "t1", {"a": 1.0, "b": 0.0})
    register_model(opened, "teacher", "small", "t2", {"a": 1.0, "b": 0.0})
    with opened.write() as con:
        keys = [row[0] for row in con.execute("SELECT passage_key FROM passages ORDER BY passage_key").fetchall()]
        for query, logits in LOGITS.items():
            asked = con.execute(
                "SELECT query_key FROM queries WHERE text_hash = ?", [sample.query_hash(query)]
            ).fetchall()[0][0]
            for key, logit in zip(keys, logits, strict=True):
                for teacher, sign in ((1, 1), (2, -1)):
                    con.execute(
                        "INSERT INTO teacher_scores VALUES (?, ?, ?, ?, 7, false, ?, now())",
                        [teacher, asked, key, sign * logit, run],
                    )
    return opened


@pytest.mark.parametrize("k", [1, 2, 3, 5, 50])
@pytest.mark.parametrize(("teacher", "sign"), [("big", 1), ("small", -1)])
def test_the_highest_logits_come_first_and_of_equals_the_smallest_key(
    wh: Warehouse, teacher: str, sign: int, k: int
) -> None:
    """Logits are packed into integers on the way: one that sorts wrongly, or comes back changed, shows here."""
    ids = "SELECT corpus, passage_key, external_id FROM passage_ids WHERE shown ORDER BY ALL"
    listed = sample.rows(wh, ids)
    keys = sorted({key for _, key, _ in listed})
    assert [sum(corpus == name for corpus, *_ in listed) for name in ("toy", "copy")] == [5, 4]
    wanted = []
    for query, logits in LOGITS.items():
        ranked = sorted(zip((sign * logit for logit in logits), keys, strict=True), key=lambda row: (-row[0], row[1]))
        for rank, (logit, key) in enumerate(ranked[:k], 1):
            names = [(corpus, name) for corpus, held, name in listed if held == key]
            wanted += [(corpus, query, rank, name, logit) for corpus, name in names]
    asked = f"SELECT corpus, query_id, rank, passage_id, logit FROM top_k('{teacher}', {k}) ORDER BY ALL"
    assert sample.rows(wh, asked) == sorted(wanted)


def test_a_view_shows_a_passage_by_the_id_of_the_runs_corpus_once(wh: Warehouse) -> None:
    """A pair that stands there once for every corpus that has the passage is counted as often."""
    sample.play_round(wh, 1, wh.path.parent)
    for name, pairs in (
        ("candidates", [row[:2] for row in sample.CANDIDATES]),
        ("positives", [("q1", "d1"), ("q2", "d3")]),
    ):
        found = sample.rows(wh, f"SELECT query_id, passage_id FROM scored_{name} ORDER BY ALL")
        assert found == sorted(pairs)
