"""Topic-aware batches (TAS-B): a batch holds queries of one cluster, and every query is drawn once an epoch."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import sentences
from tiny_corpus import make_corpus
from training import FP32, N, make_lists

from models.clusters import query_clusters
from models.drawing import Draw, shuffled
from models.student import Student
from tasks.refs import StudentRef
from tasks.train.lesson import Lesson
from tasks.train.rounds import _lists, round_plan
from tasks.train.settings import Training


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(2, 9), st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_every_list_has_one_place_and_full_batches_of_a_topic_are_of_it_alone(
    topics: list[int], batch: int, seed: int
) -> None:
    clusters = np.asarray(topics)
    order = shuffled(len(topics), batch, clusters, np.random.default_rng(seed))
    assert sorted(order) == list(range(len(topics)))
    batches = [clusters[order[start : start + batch]] for start in range(0, len(order) // batch * batch, batch)]
    pure = sum(len(set(each.tolist())) == 1 for each in batches)
    assert pure >= sum(np.bincount(clusters) // batch)


def test_batches_come_in_another_order_every_epoch_and_are_mixed_without_clusters() -> None:
    clusters = np.repeat(np.arange(4), 8)
    orders = [shuffled(32, 8, clusters, np.random.default_rng([0, epoch])) for epoch in range(6)]
    firsts = {int(clusters[order[0]]) for order in orders}
    assert len(firsts) > 1
    assert all(len(set(clusters[order[start : start + 8]].tolist())) == 1 for order in orders for start in (0, 8, 16))
    plain = shuffled(32, 8, np.zeros(0, dtype=np.int64), np.random.default_rng(5))
    assert np.array_equal(plain, np.random.default_rng(5).permutation(32))


def test_batches_of_lists_are_drawn_by_topic(tiny_student: Path) -> None:
    lists = make_lists(Student.load(tiny_student, FP32))
    topics = np.arange(N) % 2
    lists = replace(lists, clusters=topics)
    draw = Draw(batch=5, length=2)
    assert all(len(set(topics[lists.draw(draw, step).lists].tolist())) == 1 for step in range(6))
    keep = np.arange(N) != 3
    assert np.array_equal(lists.select(keep).clusters, topics[keep])
    assert lists.digest() != make_lists(Student.load(tiny_student, FP32)).digest()
    with pytest.raises(ValueError, match="3 clusters are told of 10 lists"):
        replace(lists, clusters=topics[:3])


def test_near_queries_are_of_one_topic_and_the_same_on_every_run() -> None:
    drawing = np.random.default_rng(0)
    centres = drawing.normal(0, 1, (3, 16))
    truth = np.repeat(np.arange(3), 20)
    vectors = (centres[truth] + drawing.normal(0, 0.05, (60, 16))).astype(np.float32)
    found = query_clusters(vectors, 3, 0)
    assert len({(int(one), int(other)) for one, other in zip(found, truth, strict=True)}) == 3
    assert np.array_equal(found, query_clusters(vectors, 3, 0))
    with pytest.raises(ValueError, match=r"training\.clusters is 61 and there are 60 queries"):
        query_clusters(vectors, 61, 0)


def test_a_rounds_lists_are_clustered_as_its_student_sees_them(tiny_student: Path, tmp_path: Path) -> None:
    queries = sentences(12, seed=1)
    passages = sentences(24, seed=2)
    labels = [(query, passages[number], 1) for number, query in enumerate(queries)]
    corpus = make_corpus(tmp_path, passages, dict.fromkeys(queries, "train"), labels)
    from tasks.artifacts import make_artifact
    from tasks.train.arrays import KEYS, labelled_lists

    verdicts = labelled_lists(corpus)
    others = verdicts.with_columns(
        passage_hash=pl.Series(np.roll(verdicts["passage_hash"].to_numpy(), 1)), verdict=pl.lit("negative")
    )
    made = make_artifact(
        tmp_path,
        "denoise",
        1,
        {},
        {},
        lambda folder: pl.concat([verdicts, others]).write_parquet(folder / "verdicts.parquet") or {},
    )
    assert KEYS == ["query_hash", "passage_hash"]
    lesson = Lesson(corpus=corpus, start=StudentRef(system="base", fingerprint="x", path=tiny_student), judged=made)
    plan = round_plan(Training(clusters=3, objectives=[{"name": "contrastive"}]), 0)
    student = Student.load(tiny_student, FP32)
    lists = _lists(lesson, plan, student)
    texts = pl.read_parquet(corpus.file("queries.parquet"))["text"].gather(lists.queries).to_list()
    assert np.array_equal(lists.clusters, query_clusters(student.encode_queries(texts).vectors, 3, 0))
    assert len(set(lists.clusters.tolist())) == 3 and len(lists) == 12
