"""The value of chance is the mean over random rankings."""

import numpy as np
import polars as pl
import pytest

from tasks.evaluate.chance import chance_queries, expected
from tasks.evaluate.measures import MEASURES, mean_values, measure_queries

CASES = [
    ([1], 30, 100),
    ([2, 1, 0, 1], 40, 100),
    ([3] * 12, 25, 100),
    ([1, 2], 12, 100),
    ([2, 1, 1], 150, 100),
    ([1], 1, 100),
]


@pytest.mark.parametrize(("grades", "passages", "depth"), CASES)
def test_chance_is_what_random_rankings_get(grades: list[int], passages: int, depth: int) -> None:
    """Pitfall 38: a table without the right floor hides that nothing was learned."""
    rng = np.random.default_rng(passages)
    trials = 3000
    judged = pl.DataFrame(
        {
            "query_hash": np.repeat(np.arange(trials), len(grades)),
            "passage_hash": np.tile(np.arange(len(grades)), trials),
            "grade": np.tile(np.array(grades, dtype=np.int32), trials),
        }
    )
    length = min(depth, passages)
    orders = np.argsort(rng.random((trials, passages)), axis=1)[:, :length]
    ranking = pl.DataFrame(
        {
            "query_hash": np.repeat(np.arange(trials), length),
            "passage_hash": orders.ravel(),
            "rank": np.tile(np.arange(1, length + 1, dtype=np.int32), trials),
        }
    )
    simulated = measure_queries(judged, ranking)
    means = mean_values(simulated)
    spread = dict(simulated.group_by("measure").agg(pl.col("value").std()).iter_rows())
    for name in MEASURES:
        tolerance = 4 * spread[name] / trials**0.5 + 1e-9
        assert expected(name, grades, passages, depth) == pytest.approx(means[name], abs=tolerance), name


def test_worked_values_for_one_positive() -> None:
    assert expected("R@10", [1], 200, 100) == pytest.approx(10 / 200)
    assert expected("RR@10", [1], 4, 100) == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert expected("AP", [1], 4, 100) == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert expected("AP", [1, 1], 2, 100) == pytest.approx(1.0)
    assert expected("nDCG@10", [2], 1, 100) == pytest.approx(1.0)


def test_average_precision_ends_at_the_depth_of_the_lists() -> None:
    """Systems are cut at the same depth; a deeper floor would be too high."""
    assert expected("AP", [1], 1000, 2) == pytest.approx((1 + 1 / 2) / 1000)


def test_every_judged_query_has_its_own_value() -> None:
    judged = pl.DataFrame({"query_hash": [1, 2, 2], "passage_hash": [5, 5, 6], "grade": [1, 1, 1]})
    chance = chance_queries(judged, passages=50, depth=100)
    assert chance.height == 2 * len(MEASURES)
    rr = chance.filter(pl.col("measure") == "RR@10").sort("query_hash")["value"].to_list()
    assert rr[0] == pytest.approx(sum(1 / rank for rank in range(1, 11)) / 50)
    assert rr[1] > 1.8 * rr[0]


def test_more_positives_than_passages_are_refused() -> None:
    with pytest.raises(ValueError, match="3 positives among 2 passages"):
        expected("R@10", [1, 1, 1], 2, 100)


def test_a_measure_without_a_formula_is_refused() -> None:
    with pytest.raises(ValueError, match="Bpref"):
        expected("Bpref", [1], 10, 100)
