"""How much mining will find, before anything is encoded."""

from dataclasses import dataclass

import polars as pl

from tasks.mine.excluded import excluded_rows, train_queries
from tasks.mine.settings import Mining


@dataclass(frozen=True)
class Mined:
    """What the step `mine` will write.

    Attributes:
        queries: Train queries that are mined for.
        candidates: Candidates of all queries together.
        positives: Labelled positives of these queries, which are scored too.
    """

    queries: int
    candidates: int
    positives: int

    @property
    def pairs(self) -> int:
        """Pairs for the teacher: a positive is never a candidate, so none counts twice."""
        return self.candidates + self.positives


def mined_amount(passages: pl.DataFrame, queries: pl.DataFrame, labels: pl.DataFrame, settings: Mining) -> Mined:
    """Count what mining any vectors of a corpus will find, or where a filter or another miner is asked for, at most.

    Without those it follows from the corpus, the window and the picks.

    Args:
        passages: `hash, text`.
        queries: `hash, text, split`.
        labels: `query_hash, passage_hash, grade, split`.
        settings: Depth and window.
    """
    mined = train_queries(queries, labels, settings.query_share, settings.unlabelled)
    excluded = excluded_rows(mined, passages, labels).group_by("query_row").len("excluded")
    left = mined.join(excluded, left_on="row", right_on="query_row", how="left").select(
        left=passages.height - pl.col("excluded").fill_null(0).cast(pl.Int64)
    )["left"]
    lengths = left.clip(upper_bound=settings.last_rank) - settings.first_rank + 1
    if settings.count:
        lengths = lengths.clip(upper_bound=settings.count)
    if settings.join == "union":
        lengths = pl.select(pl.min_horizontal(lengths * len(settings.miners), left)).to_series()
    positives = labels.filter(pl.col("grade") > 0).join(mined, left_on="query_hash", right_on="hash", how="semi")
    known = positives.select("query_hash", "passage_hash").unique().height
    return Mined(mined.height, int(lengths.clip(lower_bound=0).sum()), known)
