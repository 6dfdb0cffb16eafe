"""`remine search`: what base, student and teacher find for a text."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny_corpus import make_corpus

from tasks.refs import StudentRef, TeacherRef
from tasks.search import by_student, by_teacher, describe, search, searchable
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.load import finish_run, start_run

PASSAGES = ["read a file", "write a file", "sort a list", "red house", "blue tree by the river", "count the rows"]
QUERIES = {"how to sort": "train", "open a file": "test"}
LABELS = [("how to sort", "sort a list", 1), ("open a file", "read a file", 1)]


@pytest.fixture
def where(tmp_path: Path) -> Where:
    return Where(home=tmp_path, device="cpu", precision="fp32", threads=1, lock_seconds=10)


def test_a_student_finds_what_brute_force_finds(where: Where, tiny_student: Path) -> None:
    """Search that leaves the prompts out would show another order than the one that was measured."""
    from sentence_transformers import SentenceTransformer

    corpus = make_corpus(where.artifacts_path, PASSAGES, QUERIES, LABELS)
    student = StudentRef(system="base", fingerprint="f" * 32, path=tiny_student)
    hits = by_student(where, corpus, student, "sort rows", 4)
    texts = pl.read_parquet(corpus.file("passages.parquet"))["text"].to_list()
    model = SentenceTransformer(str(tiny_student), device="cpu")
    scores = model.encode_query(["sort rows"]) @ model.encode_document(texts).T
    expected = np.argsort(-scores[0])[:4]
    assert hits["row"].to_list() == expected.tolist()
    assert hits["rank"].to_list() == [1, 2, 3, 4]
    np.testing.assert_allclose(hits["score"].to_numpy(), scores[0][expected], atol=1e-5)


def test_a_teacher_reorders_what_was_found_by_its_logit(where: Where, tiny_teacher: Path) -> None:
    from models.runtime import configure
    from models.teacher import Teacher

    runtime = configure("cpu", "fp32", 1)
    found = pl.DataFrame({"row": [5, 0, 3], "text": [PASSAGES[5], PASSAGES[0], PASSAGES[3]]})
    hits = by_teacher(TeacherRef(fingerprint="t" * 32, path=tiny_teacher, name="tiny"), runtime, "count", found, 2)
    logits = Teacher.load(tiny_teacher, runtime).score([("count", text) for text in found["text"]], 8192).logits
    order = np.argsort(-logits)[:2]
    assert hits["row"].to_list() == [found["row"][int(at)] for at in order]
    np.testing.assert_allclose(hits["score"].to_numpy(), logits[order], atol=1e-5)


def test_a_passage_with_several_ids_is_shown_once() -> None:
    hits = pl.DataFrame({"system": ["base"], "rank": [1], "row": [1], "score": [0.5]})
    passages = pl.DataFrame({"hash": [10, 20], "text": ["ten", "twenty"]})
    ids = pl.DataFrame({"external_id": ["a", "b", "c"], "title": ["", "T", "U"], "hash": [10, 20, 20]})
    assert describe(hits, passages, ids).rows() == [("base", 1, "b", "T", "twenty", 0.5)]


def test_only_a_finished_run_can_be_searched(where: Where) -> None:
    warehouse = Warehouse(where.warehouse_path)
    finish_run(warehouse, start_run(warehouse, "distill", "nightly", "{}", {}), "failed", "no")
    with pytest.raises(LookupError, match=r"no run has finished yet; `remine run` comes first"):
        searchable(where)
    with pytest.raises(LookupError, match="no run of 'nightly' has finished"):
        searchable(where, "nightly")


def test_an_empty_text_finds_nothing_by_chance(where: Where) -> None:
    with pytest.raises(ValueError, match="no text to search for"):
        search(where, "  ", 5)
