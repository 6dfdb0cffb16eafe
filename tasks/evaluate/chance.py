"""What a random ranking of all passages would get: the floor under every table."""

import math
from collections.abc import Sequence

import polars as pl

from tasks.evaluate.measures import MEASURES


def chance_queries(judged: pl.DataFrame, passages: int, depth: int, names: Sequence[str] = MEASURES) -> pl.DataFrame:
    """Expected value of each measure for a uniformly random order of all passages, cut at `depth`.

    Args:
        judged: `query_hash, passage_hash, grade`, as `judged_queries` makes it.
        passages: How many distinct passages there are.
        depth: Length of the lists that systems are measured on; bounds AP and every cut.
        names: Names of measures.

    Returns:
        `query_hash, measure, value`, sorted by query, then in the order of `names`.
    """
    grades = judged.group_by("query_hash").agg(pl.col("grade")).sort("query_hash")
    rows = [
        (query, name, expected(name, list(found), passages, depth))
        for query, found in grades.iter_rows()
        for name in names
    ]
    schema = {"query_hash": pl.Int64, "measure": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def expected(name: str, grades: Sequence[int], passages: int, depth: int) -> float:
    """Expected value of one measure for one query.

    Args:
        name: nDCG@k, RR@k, R@k or AP.
        grades: Grades of the query's judged passages; at least one above 0.
        passages: How many distinct passages there are, judged or not.
        depth: Length of the list that is measured.
    """
    relevant = sum(grade > 0 for grade in grades)
    if not 0 < relevant <= passages:
        raise ValueError(f"{relevant} positives among {passages} passages: chance needs 1 to {passages}")
    base, _, cut = name.partition("@")
    k = min(int(cut) if cut else depth, depth, passages)
    if base == "nDCG":
        return _ndcg(grades, passages, k, int(cut))
    if base == "RR":
        return _reciprocal_rank(relevant, passages, k)
    if base == "R":
        return k / passages
    if base == "AP":
        return _average_precision(relevant, passages, k)
    raise ValueError(f"no expected value is known for {name}; known are nDCG@k, RR@k, R@k and AP")


def _ndcg(grades: Sequence[int], passages: int, k: int, cut: int) -> float:
    """Every rank holds the mean gain, discounted; the ideal list is the same for every order."""
    ideal = sum(
        grade / math.log2(rank + 1)
        for rank, grade in enumerate(sorted((max(grade, 0) for grade in grades), reverse=True)[:cut], start=1)
    )
    discounts = sum(1 / math.log2(rank + 1) for rank in range(1, k + 1))
    return sum(max(grade, 0) for grade in grades) / passages * discounts / ideal


def _reciprocal_rank(relevant: int, passages: int, k: int) -> float:
    """Sum over ranks of 1/rank times the chance that the first positive stands there."""
    value, none_before = 0.0, 1.0
    for rank in range(1, k + 1):
        left = passages - rank + 1
        hit = min(relevant / left, 1.0)
        value += none_before * hit / rank
        none_before *= 1.0 - hit
    return value


def _average_precision(relevant: int, passages: int, k: int) -> float:
    """A rank is relevant with chance R/P; above it stand (rank - 1)(R - 1)/(P - 1) further positives on average."""
    share = (relevant - 1) / (passages - 1) if passages > 1 else 0.0
    return sum((1 + (rank - 1) * share) / rank for rank in range(1, k + 1)) / passages
