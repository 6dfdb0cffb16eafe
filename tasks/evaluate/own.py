"""Sets whose queries are passages themselves: a passage with the query's own id is no result."""

from collections.abc import Callable

import polars as pl

from tasks.artifacts import Artifact

KEYS = ["query_hash", "passage_hash"]


def ranked_without_own(corpus: Artifact, rank: Callable[[int], pl.DataFrame], depth: int) -> pl.DataFrame:
    """Rank deeper, leave out the passages that share an id with their query, and number the ranks anew.

    Args:
        corpus: Whose ids.
        rank: Ranks to a depth: `query_hash, passage_hash, rank, score`.
        depth: Passages kept per query.
    """
    own = own_passages(corpus)
    most = max(own.group_by("query_hash").len()["len"].to_list(), default=0)
    left = rank(depth + most).join(own, on=KEYS, how="anti", maintain_order="left")
    again = pl.col("rank").rank("ordinal").over("query_hash").cast(pl.Int32)
    return left.with_columns(rank=again).filter(pl.col("rank") <= depth)


def own_passages(corpus: Artifact) -> pl.DataFrame:
    """Pairs of texts that share an id: `query_hash, passage_hash`."""
    queries, passages = (
        pl.read_parquet(corpus.file(f"{kind}_ids.parquet"), columns=["external_id", "hash"]).rename(
            {"hash": f"{kind}_hash"}
        )
        for kind in ("query", "passage")
    )
    return queries.join(passages, on="external_id").select(KEYS).unique()
