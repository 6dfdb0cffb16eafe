"""Measures agree with trec_eval and with values worked out by hand."""

import math

import numpy as np
import polars as pl
import pytest
import pytrec_eval

from tasks.evaluate.measures import MEASURES, judged_queries, mean_values, measure_queries


def labels_of(rows: list[tuple[int, int, int]], split: str = "dev") -> pl.DataFrame:
    frame = pl.DataFrame(
        rows, schema={"query_hash": pl.Int64, "passage_hash": pl.Int64, "grade": pl.Int32}, orient="row"
    )
    return frame.with_columns(split=pl.lit(split))


def ranking_of(lists: dict[int, list[int]]) -> pl.DataFrame:
    rows = [(query, passage, rank) for query, found in lists.items() for rank, passage in enumerate(found, start=1)]
    return pl.DataFrame(rows, schema={"query_hash": pl.Int64, "passage_hash": pl.Int64, "rank": pl.Int32}, orient="row")


def values_of(frame: pl.DataFrame, query: int) -> dict[str, float]:
    rows = frame.filter(pl.col("query_hash") == query)
    return dict(zip(rows["measure"], rows["value"], strict=True))


def test_worked_values_with_linear_gain() -> None:
    """Pitfall 34: a grade of 2 is worth twice a grade of 1, not three times and not the same."""
    judged = judged_queries(labels_of([(1, 10, 2), (1, 11, 1), (1, 12, 0)]), "dev")
    values = values_of(measure_queries(judged, ranking_of({1: [12, 11, 99, 10]})), 1)
    gained = 1 / math.log2(3) + 2 / math.log2(5)
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert values["nDCG@10"] == pytest.approx(gained / ideal)
    assert values["RR@10"] == pytest.approx(1 / 2)
    assert values["R@10"] == pytest.approx(1.0)
    assert values["AP"] == pytest.approx((1 / 2 + 2 / 4) / 2)


def test_reciprocal_rank_ends_at_ten_and_recall_at_its_cut() -> None:
    judged = judged_queries(labels_of([(1, 11, 1), (2, 10, 1)]), "dev")
    values = measure_queries(judged, ranking_of({1: list(range(1, 60)), 2: list(range(1, 60))}))
    late, last = values_of(values, 1), values_of(values, 2)
    assert (late["RR@10"], late["R@10"], late["R@50"], late["AP"]) == pytest.approx((0.0, 0.0, 1.0, 1 / 11))
    assert (last["RR@10"], last["R@10"]) == pytest.approx((1 / 10, 1.0))


def test_agrees_with_pytrec_eval_on_random_rankings() -> None:
    rng = np.random.default_rng(3)
    labels, lists = [], {}
    for query in range(40):
        pool = rng.permutation(300)
        labels += [(query, int(passage), int(rng.integers(0, 4))) for passage in pool[: rng.integers(1, 15)]]
        lists[query] = [int(passage) for passage in rng.permutation(300)[: rng.integers(1, 120)]]
    judged = judged_queries(labels_of(labels), "dev")
    ours = measure_queries(judged, ranking_of(lists))
    qrels: dict[str, dict[str, int]] = {}
    for query, passage, grade in judged.iter_rows():
        qrels.setdefault(str(query), {})[str(passage)] = grade
    run = {str(query): {str(p): -float(rank) for rank, p in enumerate(found)} for query, found in lists.items()}
    top = {query: dict(list(found.items())[:10]) for query, found in run.items()}
    names = {f"nDCG@{k}": f"ndcg_cut_{k}" for k in (1, 3, 5, 10)} | {
        f"R@{k}": f"recall_{k}" for k in (1, 5, 10, 50, 100)
    }
    names["AP"] = "map"
    assert {*names, "RR@10"} == set(MEASURES)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(names.values())).evaluate(run)
    first = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(top)
    assert len(theirs) > 30
    for query in theirs:
        values = values_of(ours, int(query))
        for name, key in names.items():
            assert values[name] == pytest.approx(theirs[query][key], abs=1e-6), (query, name)
        assert values["RR@10"] == pytest.approx(first[query]["recip_rank"], abs=1e-6)


def test_the_order_of_equal_scores_is_the_ranking_s_own() -> None:
    """Pitfall 39a: the measures see ranks, so no library's way with ties decides."""
    judged = judged_queries(labels_of([(1, 5, 1)]), "dev")
    names = ("nDCG@10", "RR@10", "AP")
    for ranking, rank in (([5, 9], 1), ([9, 5], 2), ([1, 5], 2), ([5, 1], 1)):
        values = values_of(measure_queries(judged, ranking_of({1: ranking}), names), 1)
        assert values["RR@10"] == pytest.approx(1 / rank)


def test_a_judged_query_without_results_counts_as_zero() -> None:
    """Pitfall 35: leaving it out would reward a system for finding nothing."""
    judged = judged_queries(labels_of([(1, 10, 1), (2, 20, 1)]), "dev")
    per_query = measure_queries(judged, ranking_of({1: [10]}))
    assert set(values_of(per_query, 2).values()) == {0.0}
    assert mean_values(per_query) == pytest.approx(dict.fromkeys(MEASURES, 0.5))


def test_nothing_ranked_at_all_is_zero_everywhere() -> None:
    judged = judged_queries(labels_of([(1, 10, 1)]), "dev")
    assert mean_values(measure_queries(judged, ranking_of({}))) == dict.fromkeys(MEASURES, 0.0)


def test_queries_without_a_positive_are_not_counted() -> None:
    judged = judged_queries(labels_of([(1, 10, 1), (2, 20, 0)]), "dev")
    assert judged["query_hash"].unique().to_list() == [1]


def test_a_ranking_of_unjudged_queries_changes_nothing() -> None:
    judged = judged_queries(labels_of([(1, 10, 1)]), "dev")
    alone = measure_queries(judged, ranking_of({1: [9, 10]}))
    assert measure_queries(judged, ranking_of({1: [9, 10], 3: [10]})).equals(alone)


def test_only_the_asked_split_is_judged() -> None:
    both = pl.concat([labels_of([(1, 10, 1)]), labels_of([(2, 10, 1)], "test")])
    assert judged_queries(both, "test")["query_hash"].to_list() == [2]


def test_a_pair_labelled_twice_counts_once_with_its_highest_grade() -> None:
    """Two ids of one text are one passage."""
    judged = judged_queries(labels_of([(1, 10, 1), (1, 10, 2), (1, 11, -1)]), "dev")
    assert judged.rows() == [(1, 10, 2), (1, 11, 0)]


def test_measures_come_in_the_order_asked() -> None:
    judged = judged_queries(labels_of([(1, 10, 1)]), "dev")
    assert measure_queries(judged, ranking_of({1: [10]}))["measure"].to_list() == list(MEASURES)


@pytest.mark.parametrize("column", ["rank", "passage_hash"])
def test_a_rank_or_passage_that_comes_twice_is_refused(column: str) -> None:
    judged = judged_queries(labels_of([(1, 10, 1)]), "dev")
    ranking = ranking_of({1: [10, 11]}).with_columns(pl.lit(1).cast(pl.Int64).alias(column))
    with pytest.raises(ValueError, match=f"{column} 1 more than once"):
        measure_queries(judged, ranking)
