"""What mining works on: texts, labels, vectors, and who is asked."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tasks.artifacts import Artifact
from tasks.baseline.bm25 import Bm25
from tasks.documents import known_passages
from tasks.mine.excluded import excluded_rows, train_queries
from tasks.mine.index import ApproximateIndex, recall
from tasks.mine.mapped import Rows, Scores, products
from tasks.mine.miners import BM25, Miners
from tasks.mine.retrieve import Ask, Retriever
from tasks.mine.search import top_k
from tasks.mine.settings import Mining


@dataclass(frozen=True)
class Ground:
    """A corpus, and the vectors of the student whose similarity counts.

    Attributes:
        passages: `hash, text`, row-aligned with the vectors.
        queries: `hash, text, split`, row-aligned with the vectors.
        labels: `query_hash, passage_hash, grade, split`.
        known: Every passage of every labelled positive: `query_hash, passage_hash`.
        mined: `row, hash, text` of the queries to mine for.
        vectors: The current student's query vectors (Q, d) and passage vectors (P, d).
    """

    passages: pl.DataFrame
    queries: pl.DataFrame
    labels: pl.DataFrame
    known: pl.DataFrame
    mined: pl.DataFrame
    vectors: tuple[Scores, Scores]

    @classmethod
    def read(cls, corpus: Artifact, vectors: Artifact, settings: Mining) -> "Ground":
        """Read a corpus and open its vectors."""
        names = ("passages", "queries", "labels")
        passages, queries, labels = (pl.read_parquet(corpus.file(f"{name}.parquet")) for name in names)
        mined = train_queries(queries, labels, settings.query_share, settings.unlabelled)
        if not mined.height:
            raise ValueError(f"{corpus.path}: no train query has a positive label, so there is nothing to mine for")
        _check_scale(vectors, settings)
        opened = open_vectors(vectors, queries.height, passages.height)
        return cls(passages, queries, labels, known_passages(corpus), mined, opened)

    @cached_property
    def excluded(self) -> pl.DataFrame:
        """What no list may hold: `query_row, passage_row, why`."""
        return excluded_rows(self.mined, self.passages, self.labels, self.known)

    @cached_property
    def positives(self) -> pl.DataFrame:
        """Labelled positives of the mined queries: `query_row, positive_row`."""
        return self.excluded.filter(pl.col("why") == "positive").select("query_row", positive_row="passage_row")

    @cached_property
    def lowest_positives(self) -> pl.DataFrame:
        """The least similarity among each query's positives: `query_row, lowest_positive`."""
        known = self.positives.select("query_row", passage_row="positive_row")
        return (
            known.with_columns(self.similarities(known)).group_by("query_row").agg(lowest_positive=pl.min("similarity"))
        )

    def similarities(self, pairs: pl.DataFrame) -> pl.Series:
        """The current student's similarity of `query_row, passage_row`, aligned with the rows."""
        left, right = (pairs[name].to_numpy() for name in ("query_row", "passage_row"))
        return pl.Series("similarity", products((self.vectors[0], left), (self.vectors[1], right)))


def open_vectors(vectors: Artifact, queries: int, passages: int) -> tuple[Scores, Scores]:
    """Open vectors as memory maps: (Q, d), (P, d).

    Raises:
        ValueError: They have other numbers of rows than the corpus has texts.
    """
    found = []
    for name, rows in (("queries", queries), ("passages", passages)):
        array = np.load(vectors.file(f"{name}.npy"), mmap_mode="r")
        if len(array) != rows:
            raise ValueError(
                f"{vectors.path / name}.npy has {len(array)} rows and the corpus {rows} {name}; "
                "ranks would point at other texts"
            )
        found.append(array)
    return found[0], found[1]


def retrievers(ground: Ground, miners: Miners, settings: Mining) -> tuple[list[Retriever], dict[str, float]]:
    """Everybody who is asked, and the recall of those whose index is approximate, by name."""
    found, recalls = [], {}
    for miner in miners.asked(settings):
        vectors = open_vectors(miner.vectors, ground.queries.height, ground.passages.height)
        if settings.index.kind == "exact":
            found.append(Retriever(miner.system, _exact(vectors)))
            continue
        index = ApproximateIndex(vectors[1], settings.index)
        found.append(Retriever(miner.system, _approximate(vectors[0], index)))
        asked = vectors[0][ground.mined["row"].to_numpy()]
        recalls[miner.system] = round(recall(index, asked, vectors[1], settings.depth), 6)
    if BM25 in settings.miners:
        found.append(Retriever(BM25, _words(ground)))
    return found, recalls


def _exact(vectors: tuple[Scores, Scores]) -> Ask:
    return lambda rows, k: top_k(vectors[0][rows], vectors[1], k)


def _approximate(queries: Scores, index: ApproximateIndex) -> Ask:
    return lambda rows, k: index.ask(queries[rows], k)


def _words(ground: Ground) -> Ask:
    index, texts = Bm25(ground.passages["text"]), ground.queries["text"]

    def ask(rows: Rows, k: int) -> tuple[Scores, Rows]:
        scores, found = np.zeros((len(rows), k), np.float32), np.full((len(rows), k), -1, np.int64)
        for place, row in enumerate(rows):
            passages, values = index.search(texts[int(row)], k)
            found[place, : len(passages)], scores[place, : len(passages)] = passages, values
        return scores, found

    return ask


def _check_scale(vectors: Artifact, settings: Mining) -> None:
    """A cosine never reaches 1.2: as a ceiling it would let everything through without a word."""
    for name in ("floor", "ceiling"):
        value = getattr(settings, name)
        if value is not None and abs(value) > 1 and vectors.facts.get("similarity") == "cosine":
            raise ValueError(f"{name} {value} is on another scale: this student's similarity is the cosine, -1 to 1")
