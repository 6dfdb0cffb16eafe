"""Measures of a ranking against labels, by `ir-measures` over `pytrec_eval`."""

from collections.abc import Sequence
from typing import Any

import polars as pl

MEASURES = (
    "nDCG@1",
    "nDCG@3",
    "nDCG@5",
    "nDCG@10",
    "RR@10",
    "R@1",
    "R@5",
    "R@10",
    "R@50",
    "R@100",
    "AP",
)


def judged_queries(labels: pl.DataFrame, split: str) -> pl.DataFrame:
    """The labels of one split's queries that have at least one positive; the others cannot be measured.

    Several labels of one pair (the same text under several ids) count once, with the highest grade. Grades
    below zero count as zero, as in trec_eval.

    Args:
        labels: `query_hash, passage_hash, grade, split`.
        split: dev, test or guard.

    Returns:
        `query_hash, passage_hash, grade`, one row per pair, sorted.
    """
    return (
        labels.filter(pl.col("split") == split)
        .group_by("query_hash", "passage_hash")
        .agg(pl.col("grade").max().clip(lower_bound=0))
        .filter((pl.col("grade") > 0).any().over("query_hash"))
        .sort("query_hash", "passage_hash")
    )


def measure_queries(judged: pl.DataFrame, ranking: pl.DataFrame, names: Sequence[str] = MEASURES) -> pl.DataFrame:
    """Measure every judged query; one that the ranking does not have gets 0.

    `pytrec_eval` breaks ties by document name, other tools by order: it is fed `-rank`, so that the ranking
    measured is the ranking made. nDCG has linear gains and grades, as trec_eval has; every other measure takes
    each grade above 0 as relevant. `RR@k` and `AP` see only the ranks there are.

    Args:
        judged: `query_hash, passage_hash, grade`, as `judged_queries` makes it.
        ranking: `query_hash, passage_hash, rank`; rank is 1-based and distinct within a query.
        names: Names of measures, as ir-measures writes them.

    Returns:
        `query_hash, measure, value`, sorted by query, then in the order of `names`.

    Raises:
        ValueError: A rank or a passage comes twice in one query.
    """
    _check_ranking(ranking)
    qrels = _nested(judged, "grade")
    values: dict[tuple[str, str], float] = {}
    for cut, wanted in _by_cut(names).items():
        kept = ranking if cut is None else ranking.filter(pl.col("rank") <= cut)
        scored = _nested(kept.with_columns(score=-pl.col("rank").cast(pl.Float64)), "score")
        for query, base, value in _calculate(list(wanted), qrels, scored):
            values[query, wanted[base]] = value
    queries = judged["query_hash"].unique().sort().to_list()
    rows = [(query, name, values[str(query), name]) for query in queries for name in names]
    schema = {"query_hash": pl.Int64, "measure": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def mean_values(per_query: pl.DataFrame) -> dict[str, float]:
    """Mean of each measure over the queries, in the order the measures come in."""
    means = per_query.group_by("measure", maintain_order=True).agg(pl.col("value").mean())
    return dict(zip(means["measure"], means["value"], strict=True))


def _by_cut(names: Sequence[str]) -> dict[int | None, dict[str, str]]:
    """Group measures by the cut of the run they need: pytrec_eval has RR, but not RR@k."""
    groups: dict[int | None, dict[str, str]] = {}
    for name in names:
        base, _, cut = name.partition("@")
        key = int(cut) if base == "RR" and cut else None
        groups.setdefault(key, {})["RR" if base == "RR" else name] = name
    return groups


def _calculate(names: Sequence[str], qrels: dict[str, dict[str, Any]], run: dict[str, dict[str, Any]]) -> Any:
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in names]
    evaluator = ir_measures.pytrec_eval.evaluator(measures, qrels)
    for metric in evaluator.iter_calc(run):
        yield metric.query_id, str(metric.measure), float(metric.value)


def _nested(frame: pl.DataFrame, column: str) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for query, passage, value in frame.select("query_hash", "passage_hash", column).iter_rows():
        nested.setdefault(str(query), {})[str(passage)] = value
    return nested


def _check_ranking(ranking: pl.DataFrame) -> None:
    for column in ("rank", "passage_hash"):
        twice = ranking.filter(pl.struct("query_hash", column).is_duplicated())
        if twice.height:
            query, value = twice.select("query_hash", column).row(0)
            raise ValueError(
                f"query {query} has {column} {value} more than once in its ranking; measured like this, "
                "the order would be decided by the measuring library"
            )
