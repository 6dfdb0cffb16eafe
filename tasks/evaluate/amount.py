"""How much an evaluation will rank and hand to a teacher, before anything is encoded."""

from dataclasses import dataclass

import polars as pl

from tasks.evaluate.measures import judged_queries
from tasks.evaluate.settings import Evaluation
from tasks.evaluate.tables import SPLITS


@dataclass(frozen=True)
class Ranked:
    """What one evaluation of a student will write.

    Attributes:
        queries: Counted queries of dev and test.
        rows: Ranked passages of all queries together.
        pairs: Those that a teacher re-ranks.
    """

    queries: int
    rows: int
    pairs: int


def ranked_amount(labels: pl.DataFrame, passages: int, settings: Evaluation) -> Ranked:
    """Count what ranking a corpus will give.

    Args:
        labels: `query_hash, passage_hash, grade, split`.
        passages: Distinct passages of the corpus.
        settings: Depths.
    """
    queries = sum(judged_queries(labels, split)["query_hash"].n_unique() for split in SPLITS)
    depth, rerank_depth = min(settings.depth, passages), min(settings.rerank_depth, passages)
    return Ranked(queries, queries * depth, queries * rerank_depth)
