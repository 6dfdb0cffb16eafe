"""Scores are the teacher's raw logits, computed once per pair, and never made up."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scoring_bench import KEYS, PASSAGES, QUERIES, Bench, Counting, open_bench

import tasks.score.scoring as scoring
from models.teacher import Teacher
from tasks.refs import TeacherRef
from tasks.score.folds import open_scorer
from warehouse.queries import stored_scores
from warehouse.texts import text_hash


@pytest.fixture
def teacher(tiny_teacher: Path) -> TeacherRef:
    return TeacherRef(fingerprint="teacher-one-fingerprint", path=tiny_teacher, name="tiny")


@pytest.fixture
def bench(tmp_path: Path, teacher: TeacherRef) -> Bench:
    return open_bench(tmp_path, teacher)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    return Counting(monkeypatch)


def logits_of(path: Path, pairs: pl.DataFrame) -> np.ndarray:
    """Score with sentence-transformers itself."""
    from sentence_transformers import CrossEncoder
    from torch import nn

    texts = {text_hash(text): text for text in (*PASSAGES, *QUERIES)}
    named = [(texts[query], texts[passage]) for query, passage in pairs.select(KEYS).rows()]
    return CrossEncoder(str(path), device="cpu").predict(named, activation_fn=nn.Identity())


def test_scores_are_the_raw_logits_of_every_pair(bench: Bench, tiny_teacher: Path) -> None:
    """Pitfall 7: an activation applied before storing makes logits of probabilities."""
    pairs = bench.pairs(list(QUERIES), PASSAGES[:10])
    artifact = bench.score(pairs)
    scores = pl.read_parquet(artifact.file("scores.parquet"))
    assert scores.select(KEYS).equals(pl.read_parquet(pairs.file("pairs.parquet")))
    np.testing.assert_allclose(scores["logit"].to_numpy(), logits_of(tiny_teacher, scores), atol=1e-5)
    assert scores.equals(bench.stored(pairs).cast(dict(scores.schema)))  # type: ignore[arg-type]
    assert scores["truncated"].any() == (scores["n_tokens"] == 64).any()
    facts = artifact.facts
    assert (facts["pairs"], facts["new"], facts["reused"]) == (60, 60, 0)
    assert facts["tokens"] == scores["n_tokens"].sum()
    assert facts["truncated"] == scores["truncated"].sum()


def test_only_pairs_that_the_store_lacks_are_scored(bench: Bench, counting: Counting) -> None:
    first = bench.score(bench.pairs(list(QUERIES), PASSAGES[:6]))
    counting.pairs.clear()
    second = bench.score(bench.pairs(list(QUERIES), PASSAGES[3:9]))
    assert len(counting.pairs) == len(set(counting.pairs)) == 6 * 3
    assert {passage for _, passage in counting.pairs} == set(PASSAGES[6:9])
    assert (second.facts["pairs"], second.facts["new"], second.facts["reused"]) == (36, 18, 18)
    shared = pl.read_parquet(first.file("scores.parquet")).join(
        pl.read_parquet(second.file("scores.parquet")), on=KEYS, suffix="_again"
    )
    assert shared.height == 18 and (shared["logit"] == shared["logit_again"]).all()


def test_nothing_is_loaded_or_scored_where_nothing_is_pending(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = bench.pairs(list(QUERIES), PASSAGES[:6])
    made = bench.score(pairs)
    open_scorer.cache_clear()
    monkeypatch.setattr(Teacher, "load", classmethod(lambda *args: pytest.fail("the teacher was loaded")))
    assert bench.score(pairs) == made
    part = bench.score(bench.pairs(list(QUERIES)[:2], PASSAGES[:3]))
    assert (part.facts["new"], part.facts["reused"], part.facts["tokens"]) == (0, 6, 0)


def test_a_changed_teacher_scores_again(bench: Bench, counting: Counting) -> None:
    """Pitfall 3: scores served under a key that doesn't hold everything that determines them."""
    pairs = bench.pairs(list(QUERIES), PASSAGES[:6])
    bench.score(pairs)
    counting.pairs.clear()
    bench.teacher = bench.teacher.model_copy(update={"fingerprint": "another-fingerprint"})
    assert bench.score(pairs).facts["new"] == 36
    assert len(counting.pairs) == 36


def test_an_edited_passage_is_scored_again_and_the_others_are_reused(bench: Bench, counting: Counting) -> None:
    """Pitfall 3: scores kept by a document's id; the text was edited and the old score is served."""
    bench.score(bench.pairs(list(QUERIES), PASSAGES[:6]))
    counting.pairs.clear()
    edited = [PASSAGES[0] + " new", *PASSAGES[1:]]
    again = open_bench(bench.home, bench.teacher, edited)
    assert again.score(again.pairs(list(QUERIES), edited[:6])).facts["reused"] == 30
    assert {passage for _, passage in counting.pairs} == {edited[0]}


def break_one(counting: Counting, query: str, passage: str) -> None:
    def before(pairs: Sequence[tuple[str, str]]) -> None:
        if (query, passage) in pairs:
            raise ValueError(f"the teacher gave nan for query {query!r} and passage {passage!r}")

    counting.before = before


def test_a_shard_that_fails_costs_only_itself(bench: Bench, counting: Counting) -> None:
    """Pitfall 11: nothing of the shard is written, the pair is named, the others are kept and the step fails."""
    pairs = bench.pairs(list(QUERIES), PASSAGES)
    query, passage = next(iter(QUERIES)), PASSAGES[4]
    break_one(counting, query, passage)
    with pytest.raises(RuntimeError, match="1 of 4 shards failed; 3 kept; run again to go on") as caught:
        bench.score(pairs)
    assert repr(query) in str(caught.value) and repr(passage) in str(caught.value)
    assert len(bench.shard_files()) == 3
    kept = sum(pl.read_parquet(path).height for path in bench.shard_files())
    assert bench.stored(pairs).height == kept
    assert not list((bench.root / "score").glob("*"))
    counting.pairs.clear()
    counting.before = lambda pairs: None
    bench.score(pairs)
    assert len(counting.pairs) == 180 - kept


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_logit_that_is_not_finite_fails_its_shard(tmp_path: Path, value: float) -> None:
    """Pitfall 11, through the real model: NaN or infinity in the weights, as fp16 overflow would give."""
    import torch
    from safetensors.torch import load_file, save_file
    from tiny import make_teacher

    path = make_teacher(tmp_path / "broken", seed=2)
    weights = load_file(path / "model.safetensors")
    weights["classifier.bias"] = torch.full_like(weights["classifier.bias"], value)
    save_file(weights, path / "model.safetensors", {"format": "pt"})
    bench = open_bench(tmp_path / "home", TeacherRef(fingerprint="broken-teacher", path=path, name="broken"))
    with pytest.raises(RuntimeError, match=rf"4 of 4 shards failed; 0 kept.*{value} for query"):
        bench.score(bench.pairs(list(QUERIES), PASSAGES))
    assert bench.shard_files() == []


def test_a_missing_score_is_refused_not_made_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pitfall 8: a default of 0 or -20 for a pair that the store doesn't have."""
    pairs = bench.pairs(list(QUERIES), PASSAGES[:5])
    monkeypatch.setattr(scoring, "stored_scores", lambda *args: stored_scores(*args)[1:])
    with pytest.raises(ValueError, match="1 of 30 pairs have no score"):
        bench.score(pairs)


def test_pairs_of_texts_outside_the_corpus_are_refused(bench: Bench) -> None:
    with pytest.raises(ValueError, match="6 pairs name texts that the corpus doesn't have"):
        bench.score(bench.pairs(list(QUERIES), [PASSAGES[0], "nobody knows this"]))
