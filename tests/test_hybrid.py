"""What costs no training: two rankings made one, and what can be known before a student is trained."""

from pathlib import Path

import polars as pl
import pytest
from tiny_corpus import make_corpus
from vectors import write_vectors

from tasks.baseline.before import before_tuning, detectable
from tasks.baseline.systems import evaluate_bm25, evaluate_hybrid, fused
from tasks.evaluate.paired import compare_differences
from tasks.evaluate.settings import Evaluation
from tasks.evaluate.systems import evaluate_student


def ranking(lists: dict[int, list[int]]) -> pl.DataFrame:
    rows = [(query, passage, rank) for query, found in lists.items() for rank, passage in enumerate(found, start=1)]
    schema = {"query_hash": pl.Int64, "passage_hash": pl.Int64, "rank": pl.Int32}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(score=pl.lit(0.0, pl.Float32))


def order(frame: pl.DataFrame, query: int) -> list[int]:
    rows = frame.filter(pl.col("query_hash") == query)
    assert rows["rank"].to_list() == list(range(1, rows.height + 1))
    return rows["passage_hash"].to_list()


def test_reciprocal_ranks_add_up() -> None:
    """Passage 2: 1/62 + 1/61; passage 1: 1/61 + 1/63; passage 3: 1/62 alone; passage 4: 1/63 alone."""
    found = fused(ranking({7: [1, 2, 4]}), ranking({7: [2, 3, 1]}), 100)
    assert order(found, 7) == [2, 1, 3, 4]
    assert found["score"].to_list() == pytest.approx([1 / 62 + 1 / 61, 1 / 61 + 1 / 63, 1 / 62, 1 / 63])


def test_equal_scores_follow_the_second_ranking() -> None:
    """Pitfall 20: an order that changes from run to run."""
    assert order(fused(ranking({1: [5, 6]}), ranking({1: [6, 5]}), 100), 1) == [6, 5]
    assert order(fused(ranking({1: [9]}), ranking({1: [8]}), 100), 1) == [8, 9]


def test_a_query_that_one_system_finds_nothing_for_keeps_the_other() -> None:
    found = fused(ranking({1: [5]}), ranking({1: [6], 2: [7, 8, 9]}), 2)
    assert order(found, 2) == [7, 8]


def test_hybrid_is_measured_like_every_system(tmp_path: Path) -> None:
    passages = ["red cat", "blue dog", "green tree"]
    queries = {"red one": "dev", "which dog": "test", "which tree": "train"}
    labels = [("red one", "red cat", 1), ("which dog", "blue dog", 1), ("which tree", "green tree", 1)]
    corpus = make_corpus(tmp_path, passages, queries, labels)
    # The base finds the dog and misses the cat, BM25 finds both by their word.
    vectors = {text: [float(text in ("blue dog", "which dog")), 0.5, 0.1] for text in [*passages, *queries]}
    base = evaluate_student(tmp_path, "base", corpus, write_vectors(tmp_path, corpus, vectors), Evaluation())
    both = evaluate_hybrid(tmp_path, corpus, evaluate_bm25(tmp_path, corpus, 100), base, 100)
    metrics = pl.read_parquet(both.file("metrics.parquet"))
    assert set(metrics["system"]) == {"hybrid"}
    values = dict(metrics.filter(pl.col("split") == "test").select("measure", "value").iter_rows())
    assert values["RR@10"] == 1.0
    assert any("1 labelled training pairs" in warning for warning in both.facts["warnings"])


def values(numbers: list[float]) -> pl.DataFrame:
    rows = {"split": "dev", "measure": "nDCG@10", "query_hash": range(len(numbers)), "value": numbers}
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("pairs", "numbers", "said"),
    [
        (1000, [0.5] * 100, []),
        (999, [0.5] * 100, ["999 labelled training pairs, fewer than 1,000"]),
        (1000, [0.5] * 99, ["99 dev queries, fewer than 100"]),
        (1000, [0.9] * 100, ["at most 0.100 is left to gain"]),
        (1000, [0.89] * 100, []),
    ],
)
def test_a_gamble_is_called_one_before_it_is_made(
    tmp_path: Path, pairs: int, numbers: list[float], said: list[str]
) -> None:
    queries = {f"q{number}": "train" for number in range(pairs)}
    corpus = make_corpus(tmp_path, ["p"], queries, [(query, "p", 1) for query in queries])
    found = before_tuning(corpus, values(numbers), values([each / 2 for each in numbers]))
    assert len(found) == len(said)
    assert all(part in sentence for part, sentence in zip(said, found, strict=True))


def test_a_perfect_base_is_told_without_noughts(tmp_path: Path) -> None:
    """“Would have to change by about 0.000” says that any change is proof."""
    queries = {f"q{number}": "train" for number in range(1000)}
    corpus = make_corpus(tmp_path, ["p"], queries, [(query, "p", 1) for query in queries])
    few, ceiling = before_tuning(corpus, values([1.0] * 40), values([1.0] * 40))
    assert few == "40 dev queries, fewer than 100: small gains and losses of nDCG@10 can't be told from luck"
    assert ceiling.startswith("the base has nDCG@10 1.000 on dev: nothing is left to gain, so no student")
    few, _ = before_tuning(corpus, values([1.0] * 40), values([1.0, 0.9] * 20))
    assert "would have to change by about 0.022" in few  # 2.8 · 0.0506 / √40


def test_what_is_called_detectable_is_found_four_times_in_five() -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.3, (200, 50))
    least = detectable(pl.Series(np.zeros(50)), pl.Series(noise[0] * 0.3 / noise[0].std()))
    found = sum(compare_differences(each + least).p < 0.05 for each in noise)
    assert 140 <= found <= 180
    assert detectable(pl.Series([0.1]), pl.Series([0.2])) == 1.0
