"""Vectors whose first numbers rank well too: trained, and measured."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from tiny import make_student, sentences
from tiny_corpus import make_corpus
from tiny_loop import recipe
from training import FP32, PLAN, scripted, train

from flows.distill import distill_rounds
from flows.plan import plan_recipe
from flows.refresh import refresh_student
from models.lists import Batch
from models.loop import batch_loss
from models.objectives import Term
from models.student import Student
from tasks.encode import encode_corpus
from tasks.evaluate.settings import Evaluation
from tasks.evaluate.systems import evaluate_student
from tasks.refs import Run, StudentRef
from tasks.report.tables import place
from tasks.where import Where

DIMENSIONS = (8, 16)


def test_the_loss_is_sentence_transformers_matryoshka_loss(tiny_student: Path) -> None:
    """As a mean where theirs is a sum, so that more dimensions are no higher learning rate."""
    from sentence_transformers.sentence_transformer.losses import MatryoshkaLoss, MultipleNegativesRankingLoss

    student = Student.load(tiny_student, FP32)
    student.eval()
    plan = replace(PLAN, terms=(Term("contrastive", tau=0.1),), dimensions=DIMENSIONS)
    queries, passages = sentences(4, seed=1), sentences(4, seed=2)
    own = np.arange(4)[:, None]
    batch = Batch(
        lists=np.arange(4),
        queries=student.tokenize_queries(queries),
        passages=student.tokenize_passages(passages),
        columns=own,
        mask=np.ones((4, 1), bool),
        positives=np.ones((4, 1), bool),
        negatives=np.zeros((4, 1), bool),
        targets=np.full((4, 1), np.nan, np.float32),
        forbidden=np.eye(4, dtype=bool),
    )
    ours = batch_loss(student, plan, batch, student.embed(batch.queries), student.embed(batch.passages))
    inner = MultipleNegativesRankingLoss(student.model, scale=10)
    theirs = MatryoshkaLoss(student.model, inner, [32, *DIMENSIONS])
    features = [student.model.preprocess(texts) for texts in (queries, passages)]
    assert 3 * ours.item() == pytest.approx(theirs(features, torch.empty(0)).item(), rel=1e-4)
    whole = batch_loss(
        student, replace(plan, dimensions=()), batch, student.embed(batch.queries), student.embed(batch.passages)
    )
    assert abs(whole.item() - ours.item()) > 1e-3


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_shortened_vectors_are_of_unit_length_where_the_similarity_is_the_cosine(
    tmp_path: Path, similarity: str
) -> None:
    student = Student.load(make_student(tmp_path / "s", similarity=similarity, normalize=False), FP32)
    student.eval()
    made = student.embed(student.tokenize_passages(sentences(3, seed=1)))
    own = student.scores(made, made, 8).diagonal()
    expected = torch.ones(3) if similarity == "cosine" else made[:, :8].square().sum(1)
    torch.testing.assert_close(own, expected)


def test_a_dimension_that_shortens_nothing_is_refused(tiny_student: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"dimensions \[32\] are not below the 32 numbers"):
        train(tiny_student, tmp_path, replace(PLAN, dimensions=(8, 32)))


def test_cached_and_plain_steps_are_the_same_with_dimensions_too(tiny_student: Path, tmp_path: Path) -> None:
    """Pitfall 22."""
    plan = replace(PLAN, steps=2, dimensions=DIMENSIONS)
    again = partial(train, tiny_student, measure=scripted([0.1, 0.2] * 2))
    losses = [again(tmp_path / str(cache), replace(plan, cache=cache))[1].history[1].loss for cache in (False, True)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert losses[0] != train(tiny_student, tmp_path / "x", replace(PLAN, steps=2))[1].history[1].loss


def test_every_dimension_is_measured_by_its_own_numbers(tmp_path: Path, tiny_student: Path) -> None:
    passages = sentences(20, seed=4, longest=12)
    queries = dict(zip(sentences(4, seed=5), ["train", "dev", "dev", "test"], strict=True))
    labels = [(query, passages[number], 1) for number, query in enumerate(queries)]
    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1)
    corpus = make_corpus(where.artifacts_path, passages, queries, labels)
    student = StudentRef(system="round-1", fingerprint="x", path=tiny_student)
    vectors = encode_corpus(where, corpus, student)
    measure = partial(evaluate_student, where.artifacts_path, "round-1", corpus, vectors, Evaluation())
    whole, short = measure(), measure(dimension=8)
    assert set(pl.read_parquet(short.file("metrics.parquet"))["system"]) == {"round-1@8"}
    asked, shown = (np.load(vectors.file(f"{name}.npy"))[:, :8] for name in ("queries", "passages"))
    asked, shown = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (asked, shown))
    hashes = {name: pl.read_parquet(corpus.file(f"{name}.parquet"))["hash"] for name in ("queries", "passages")}
    ranking = pl.read_parquet(short.file("ranking.parquet"))
    assert ranking["query_hash"].n_unique() == 3
    for (query,), found in ranking.sort("rank").group_by("query_hash", maintain_order=True):
        expected = np.argsort(-(shown @ asked[hashes["queries"].to_list().index(query)]), kind="stable")
        assert found["passage_hash"].to_list() == hashes["passages"].gather(expected).to_list()
    first = pl.read_parquet(whole.file("ranking.parquet"))
    assert first["passage_hash"].to_list() != ranking["passage_hash"].to_list()
    with pytest.raises(ValueError, match="vectors of 32 numbers cannot be shortened to 32"):
        measure(dimension=32)


@pytest.mark.parametrize("begin", ["run", "refresh", "plan"])
def test_nothing_is_computed_for_a_dimension_that_the_student_does_not_have(
    tmp_path: Path, tiny_student: Path, begin: str
) -> None:
    """A night of training would end in this sentence, though the model's files say it at once."""
    where = Where(home=tmp_path / "home", device="cpu", precision="fp32", threads=1)
    wanted = recipe(tmp_path / "no data", tiny_student, training={"dimensions": [8, 32, 40]})
    run = Run(id=1, recipe="tiny", where=where)
    begins: dict[str, Callable[[], Any]] = {
        "run": lambda: distill_rounds(run, wanted),
        "refresh": lambda: refresh_student(run, wanted),
        "plan": lambda: plan_recipe(wanted, where),
    }
    with pytest.raises(ValueError, match=r"has 32, 40, and the vectors of student\.model .* are 32 numbers long"):
        begins[begin]()
    assert not where.home.exists()


def test_a_shortened_system_stands_beside_its_own_in_tables() -> None:
    names = ["round-2", "base@8", "round-1@8", "warm", "base", "round-1"]
    assert sorted(names, key=place) == ["base", "base@8", "warm", "round-1", "round-1@8", "round-2"]
