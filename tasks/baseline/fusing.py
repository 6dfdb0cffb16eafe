"""Two rankings made one by reciprocal ranks."""

import polars as pl

SMOOTHING = 60
KEYS = ["query_hash", "passage_hash"]


def fused(first: pl.DataFrame, second: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Fuse two rankings: score = sum of 1 / (60 + rank) (Cormack et al. 2009, 10.1145/1571941.1572114).

    A passage that one of them does not have gets nothing from it. Of equal scores, what the second ranks higher comes
    first, then the smaller hash.

    Args:
        first: `query_hash, passage_hash, rank, score`.
        second: The same of the other one.
        depth: Passages kept per query.

    Returns:
        `query_hash, passage_hash, rank, score`, by query, then by rank.
    """
    told = [ranking.select(*KEYS, pl.col("rank").alias(name)) for name, ranking in (("a", first), ("b", second))]
    both = told[0].join(told[1], on=KEYS, how="full", coalesce=True)
    parts = [1.0 / (SMOOTHING + pl.col(name).cast(pl.Float64)) for name in ("a", "b")]
    scored = both.with_columns(score=pl.sum_horizontal(parts, ignore_nulls=True))
    ordered = scored.sort(
        "query_hash", "score", "b", "passage_hash", descending=[False, True, False, False], nulls_last=True
    )
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query_hash")
    kept = ordered.with_columns(rank=rank).filter(pl.col("rank") <= depth)
    return kept.select(*KEYS, "rank", pl.col("score").cast(pl.Float32))
