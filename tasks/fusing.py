"""Several rankings made one by reciprocal ranks."""

from collections.abc import Sequence

import polars as pl

SMOOTHING = 60.0  # what Cormack et al. found to do well, whatever is fused
ORDER = "order"


def fuse(
    lists: Sequence[pl.DataFrame],
    keys: tuple[str, str],
    constant: float,
    depth: int,
    carried: Sequence[pl.Expr] = (),
    ties: Sequence[str] = (),
) -> pl.DataFrame:
    """Fuse rankings: score = Σ 1 / (constant + rank) (Cormack et al. 2009, 10.1145/1571941.1572114).

    A passage that a list does not have gets nothing from it.

    Args:
        lists: Rankings with the columns of `keys`, `rank` (from 1) and what is carried.
        keys: Columns that name query and passage.
        constant: How little the first ranks differ.
        depth: Passages kept per query.
        carried: What becomes of a passage's other columns; its rows come in the order of the lists, whose number,
            from 0, is the column `order`.
        ties: Columns of `carried` by which equal scores are ordered, smallest first and nulls last; then, and where
            there are none, by the passage's key.

    Returns:
        The keys, what is carried, score (float64) and rank (int32), by query, then by rank.
    """
    query, passage = keys
    found = pl.concat([each.with_columns(pl.lit(number).alias(ORDER)) for number, each in enumerate(lists)])
    reciprocal = (1.0 / (constant + pl.col("rank").cast(pl.Float64))).sum()
    scored = found.group_by(query, passage, maintain_order=True).agg(*carried, score=reciprocal)
    columns = [query, "score", *ties, passage]
    ordered = scored.sort(columns, descending=[name == "score" for name in columns], nulls_last=True)
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over(query)
    return ordered.with_columns(rank=rank).filter(pl.col("rank") <= depth)
