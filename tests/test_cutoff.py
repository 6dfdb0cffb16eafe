"""“No answer”: the cut-off on the similarity, worked out by hand and against brute force."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny_corpus import make_corpus
from vectors import write_vectors

from tasks.artifacts import Artifact
from tasks.evaluate.cutoff import asked_twice, best_threshold, threshold_of, told_by
from tasks.evaluate.halves import select
from tasks.evaluate.settings import Evaluation
from tasks.evaluate.systems import evaluate_student
from warehouse.texts import text_hash

Row = tuple[float, bool, float | None]


def asked(rows: list[Row]) -> pl.DataFrame:
    schema = {"similarity": pl.Float64, "relevant": pl.Boolean, "other": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(query_hash=pl.int_range(len(rows)))


def test_what_comes_first_with_and_without_the_relevant_passages() -> None:
    rows = [(1, 10, 1, 0.9), (1, 11, 2, 0.8), (1, 12, 3, 0.3), (2, 12, 1, 0.5), (2, 10, 2, 0.4), (3, 10, 1, 0.7)]
    ranking = pl.DataFrame(rows, schema=["query_hash", "passage_hash", "rank", "score"], orient="row")
    labels = [(1, 10, 1), (1, 11, 2), (1, 12, 0), (2, 10, 1), (3, 10, 1)]
    judged = pl.DataFrame(labels, schema=["query_hash", "passage_hash", "grade"], orient="row")
    assert asked_twice(ranking, judged).rows() == [(1, 0.9, True, 0.3), (2, 0.5, False, 0.5), (3, 0.7, True, None)]


def test_a_worked_cut_off() -> None:
    """Given at 0.6: both right answers and no wrong one; the third, wrong on top, is cut as well."""
    found = asked([(0.9, True, 0.4), (0.6, True, 0.3), (0.5, False, 0.5)])
    threshold = best_threshold(found)
    assert threshold == pytest.approx((0.6 + 0.5) / 2)
    told = told_by(found, threshold or 0)
    assert (told.precision, told.recall, told.queries) == (1.0, pytest.approx(2 / 3), 3)
    loose = told_by(found, 0.45)
    assert loose.precision == pytest.approx(2 / 4), "the wrong answer counts with and without the passages"
    assert told_by(found, 2.0).precision is None and told_by(found, 2.0).recall == 0


def test_no_other_cut_off_has_a_higher_f1() -> None:
    rng = np.random.default_rng(0)
    first = rng.uniform(0.2, 1.0, 60).round(2)
    rows = [(float(s), bool(rng.random() < s), float(s - rng.uniform(0, 0.4))) for s in first]
    found = asked(rows)
    threshold = best_threshold(found)
    assert threshold is not None

    def f1(cut: float) -> float:
        told = told_by(found, cut)
        return 2 * told.precision * told.recall / (told.precision + told.recall) if told.precision else 0.0

    every = [f1(float(cut)) for cut in np.arange(0.0, 1.01, 0.001)]
    assert 0 < max(every) == pytest.approx(f1(threshold), abs=1e-9)
    assert min(every) < max(every)


def test_where_nothing_is_right_there_is_no_cut_off() -> None:
    assert best_threshold(asked([(0.9, False, 0.9), (0.8, False, 0.8)])) is None


def student(root: Path, corpus: Artifact, scale: float, queries: list[str]) -> Artifact:
    """Right about every query; similarities of `scale` to what is relevant and of half of it to the rest."""
    vectors = {query: [1.0, 0.0] for query in queries} | {"right": [scale, 0.0], "wrong": [scale / 2, 1.0]}
    return write_vectors(root, corpus, vectors, f"scaled {scale}")


def test_each_student_has_its_own(tmp_path: Path) -> None:
    """A cut-off kept from the student before lets everything pass, or nothing."""
    queries = {"what is dev": "dev", "what is train": "train"}
    corpus = make_corpus(tmp_path, ["right", "wrong"], queries, [(query, "right", 1) for query in queries])
    found = []
    for scale in (0.8, 0.4):
        vectors = student(tmp_path, corpus, scale, list(queries))
        evaluated = evaluate_student(tmp_path, "round-1", corpus, vectors, Evaluation())
        artifact = threshold_of(tmp_path, corpus, evaluated)
        found.append(artifact.facts["threshold"])
        rows = pl.read_parquet(artifact.file("diagnostics.parquet"))
        assert rows["name"].to_list() == ["threshold", "threshold precision", "threshold recall"]
        assert artifact.facts["precision"] == artifact.facts["recall"] == 1.0
        assert "which flatters it" in artifact.facts["sentence"]
    assert found == pytest.approx([0.6, 0.3])


def test_it_is_chosen_by_one_half_of_dev_and_told_by_the_other(tmp_path: Path) -> None:
    queries = [f"what is {number}" for number in range(480)]
    hashes = pl.DataFrame({"query_hash": [text_hash(query) for query in queries]})
    chooses = set(select(hashes)["query_hash"].to_list())
    corpus = make_corpus(
        tmp_path,
        ["right", "wrong"],
        {**dict.fromkeys(queries, "dev"), "learn": "train"},
        [(query, "right", 1) for query in (*queries, "learn")],
    )
    vectors = {"right": [1.0, 0.0], "wrong": [0.0, 1.0], "learn": [1.0, 0.0]}
    for query in queries:  # by the half that decides, right answers have low similarities
        vectors[query] = [0.8, 0.2] if text_hash(query) in chooses else [0.3, 0.1]
    encoded = write_vectors(tmp_path, corpus, vectors)
    facts = threshold_of(tmp_path, corpus, evaluate_student(tmp_path, "warm", corpus, encoded, Evaluation())).facts
    assert facts["threshold"] == pytest.approx(0.5)
    assert (facts["recall"], facts["queries"]) == (0.0, 480 - len(chooses))
    assert "not chosen by" in facts["sentence"]
