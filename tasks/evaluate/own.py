"""Sets whose queries are passages themselves: a passage with the query's own id is no result."""

from collections.abc import Callable

import polars as pl

from tasks.artifacts import Artifact
from tasks.evaluate.tables import KEYS


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
    """Queries and the passages of the document that has their id: `query_hash, passage_hash`."""
    queries = pl.read_parquet(corpus.file("query_ids.parquet")).select(id="external_id", query_hash="hash")
    passages = pl.read_parquet(corpus.file("passage_ids.parquet")).select(id="document", passage_hash="hash")
    return queries.join(passages, on="id").select(KEYS).unique()
