"""Lists as miners give them: best first, without what can never be a candidate, ranks counted."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from tasks.fusing import fuse
from tasks.mine.mapped import Rows, Scores

Ask = Callable[[Rows, int], tuple[Scores, Rows]]
Drop = Callable[[pl.DataFrame], pl.DataFrame]

SPARE = 16  # asked for beyond the depth, in place of what is taken out; whoever needs more is asked again


@dataclass(frozen=True)
class Retriever:
    """Somebody who answers queries with passages.

    Attributes:
        name: The system's name.
        ask: Query rows (n,) and a number k give scores and passage rows, both (n, ≤ k), best first; -1 stands where
            there was nothing more to find.
    """

    name: str
    ask: Ask


def retrieve(retriever: Retriever, query_rows: Rows, drop: Drop, depth: int) -> pl.DataFrame:
    """Retrieve `depth` passages for each query that are left after `drop`, or as many as there are.

    Args:
        retriever: Who is asked.
        query_rows: Rows of the queries, (n,).
        drop: Takes rows out of `query_row, passage_row, score` that no list may hold.
        depth: Passages wanted per query.

    Returns:
        `query_row, passage_row, score, rank, miner`, by query and rank; ranks count from 1 without gaps.
    """
    whole, k, open_ = [], depth + SPARE, query_rows
    while len(open_):
        scores, passage_rows = retriever.ask(open_, k)
        left = drop(flat(open_, scores, passage_rows))
        counts = dict(left.group_by("query_row").len().iter_rows())
        ends = passage_rows.shape[1] < k
        exhausted = (passage_rows < 0).any(axis=1) | ends
        short = np.array([counts.get(int(row), 0) < depth for row in open_], dtype=bool) & ~exhausted
        again = pl.DataFrame({"query_row": open_[short]}, schema={"query_row": pl.Int64})
        whole.append(left.join(again, on="query_row", how="anti", maintain_order="left"))
        open_, k = open_[short], 2 * k
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query_row")
    ranked = pl.concat(whole).with_columns(rank=rank, miner=pl.lit(retriever.name))
    return ranked.filter(pl.col("rank") <= depth).sort("query_row", "rank")


def flat(query_rows: Rows, scores: Scores, passage_rows: Rows) -> pl.DataFrame:
    """Lay lists out as rows, in their order; -1 is no passage: `query_row, passage_row, score`."""
    length = scores.shape[1]
    return pl.DataFrame(
        {
            "query_row": np.repeat(np.asarray(query_rows, np.int64), length),
            "passage_row": np.ascontiguousarray(passage_rows, np.int64).reshape(-1),
            "score": np.ascontiguousarray(scores, np.float32).reshape(-1),
        }
    ).filter(pl.col("passage_row") >= 0)


def fuse_miners(lists: list[pl.DataFrame], constant: float, depth: int) -> pl.DataFrame:
    """Make one list of several by reciprocal ranks; ties go to the lower passage row.

    `miner` names who found a passage, joined by +, in the order of the lists.

    Args:
        lists: `query_row, passage_row, rank, similarity, miner`, a frame for each miner.
        constant: How little the first ranks differ.
        depth: Passages kept per query.
    """
    carried = [pl.col("similarity").first(), pl.col("miner").str.join("+")]
    return fuse(lists, ("query_row", "passage_row"), constant, depth, carried)


def unite(lists: pl.DataFrame) -> pl.DataFrame:
    """Make one list of what several kept: the best rank counts, `miner` names all who kept it.

    Args:
        lists: `query_row, passage_row, rank, similarity, miner`, in the order of the miners.
    """
    kept = lists.group_by("query_row", "passage_row", maintain_order=True).agg(
        pl.col("rank").min(), pl.col("similarity").first(), pl.col("miner").str.join("+")
    )
    return kept.sort("query_row", "rank", "passage_row")
