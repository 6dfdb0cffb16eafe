"""What a teacher learns from: labelled queries with the passages beside them, fold by fold."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.teaching import TeachingLists
from tasks.artifacts import Artifact
from tasks.documents import known_passages
from tasks.train.arrays import KEYS, Texts, labelled_lists


def fold_of(hashes: pl.Series, folds: int) -> NDArray[np.int64]:
    """The fold of each query, by the hash of its text: the same on every machine, whatever else is in the set."""
    return (hashes.to_numpy().astype(np.int64).view(np.uint64) % np.uint64(folds)).astype(np.int64)


def seen_queries(corpus: Artifact, folds: int) -> pl.DataFrame:
    """Which teacher sees which labels: `query_hash, fold`. Teacher k sees every train query but those of fold k.

    Raises:
        ValueError: A teacher would see no query, or judge none.
    """
    queries = labelled_lists(corpus)["query_hash"].unique().sort()
    own = fold_of(queries, folds)
    counts = np.bincount(own, minlength=folds)
    if (counts == 0).any():
        raise ValueError(
            f"{len(queries)} labelled train queries in {folds} folds leave fold {int(counts.argmin())} empty; "
            "use fewer folds or more labels"
        )
    seen = [pl.DataFrame({"query_hash": queries.filter(pl.Series(own != fold)), "fold": fold}) for fold in range(folds)]
    return pl.concat(seen).cast({"fold": pl.Int32})


@dataclass(frozen=True)
class Material:
    """Texts, positives and hard negatives of all labelled train queries, and what is neither."""

    texts: Texts
    positives: pl.DataFrame  # query_hash, passage_hash
    hard: pl.DataFrame  # query_hash, passage_hash, in rank order
    barred: pl.DataFrame  # query_hash, passage_hash: the other passages of documents that are positives

    @classmethod
    def read(cls, corpus: Artifact, mined: Artifact) -> "Material":
        """Read the labels, and as hard negatives what the miner ranked first."""
        candidates = pl.read_parquet(mined.file("candidates.parquet")).sort("query_hash", "rank").select(KEYS)
        positives = labelled_lists(corpus).select(KEYS)
        barred = known_passages(corpus).join(positives, on=KEYS, how="anti")
        return cls(Texts.read(corpus), positives, candidates, barred)

    def lists(self, queries: pl.Series) -> TeachingLists:
        """Teaching lists of some queries."""
        rows = self.texts.query_rows(queries)
        return TeachingLists(
            queries=self.texts.queries["text"].gather(rows).to_list(),
            passages=self.texts.passages["text"].to_list(),
            positives=self._rows(self.positives, queries),
            hard=self._rows(self.hard, queries),
            barred=self._rows(self.barred, queries) if self.barred.height else (),
        )

    def _rows(self, pairs: pl.DataFrame, queries: pl.Series) -> list[NDArray[np.int64]]:
        listed = pairs.filter(pl.col("query_hash").is_in(queries.implode()))
        rows = listed.with_columns(row=pl.Series(self.texts.passage_rows(listed["passage_hash"])))
        grouped = dict(rows.group_by("query_hash", maintain_order=True).agg("row").iter_rows())
        return [np.asarray(grouped.get(query, []), dtype=np.int64) for query in queries]
