"""Documents that were cut into passages: found by their best passage, judged as wholes.

Where a corpus was not cut, every passage is its own document and all of this changes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from tasks.artifacts import Artifact
from tasks.mine.excluded import plain_forms

DOCUMENTS, JUDGEMENTS = "documents.parquet", "judgements.parquet"
DEEPER = 4  # passages asked for per document wanted, at first
Ask = Callable[[list[int], int], pl.DataFrame]


@dataclass(frozen=True)
class Documents:
    """Which passages make up which document.

    Attributes:
        parts: `document_hash, passage_hash`, each pair once; None where every passage is its own document. A passage
            of several documents (the same words in each) counts for all of them.
    """

    parts: pl.DataFrame | None

    @classmethod
    def read(cls, corpus: Artifact) -> "Documents":
        """Read a corpus' documents."""
        path = corpus.path / DOCUMENTS
        return cls(pl.read_parquet(path, columns=["document_hash", "passage_hash"]) if path.exists() else None)

    def count(self, passages: int) -> int:
        """How many documents there are, in a corpus of that many passages."""
        return passages if self.parts is None else self.parts["document_hash"].n_unique()

    def ranked(self, ranking: pl.DataFrame) -> pl.DataFrame:
        """Rank documents by their best passage.

        Args:
            ranking: `query_hash, passage_hash, rank`.

        Returns:
            `query_hash, passage_hash, rank`, where passage_hash is the document's, as labels name it.
        """
        if self.parts is None:
            return ranking
        found = self._expanded(ranking).unique(["query_hash", "document_hash"], keep="first", maintain_order=True)
        return found.select("query_hash", "rank", passage_hash="document_hash").with_columns(_counted())

    def best(self, ranking: pl.DataFrame, depth: int) -> pl.DataFrame:
        """Keep each document's best passage, and `depth` of them: ranks count anew, all else stays as it was.

        Args:
            ranking: `query_hash, passage_hash, rank, …`.
            depth: Passages kept per query.
        """
        if self.parts is not None:
            first = self._expanded(ranking).unique(["query_hash", "document_hash"], keep="first", maintain_order=True)
            ranking = ranking.join(first, on=["query_hash", "passage_hash"], how="semi").sort("query_hash", "rank")
            ranking = ranking.with_columns(_counted())
        return ranking.filter(pl.col("rank") <= depth)

    def retrieve(self, ask: Ask, queries: list[int], depth: int) -> pl.DataFrame:
        """Find the best passage of each of the first `depth` documents, asking for more until there are so many.

        Args:
            ask: Ranks the first k passages for queries, by hash: `query_hash, passage_hash, rank, …`.
            queries: Hashes.
            depth: Documents wanted per query.
        """
        if self.parts is None:
            return ask(queries, depth)
        whole, k, left = [], DEEPER * depth, queries
        while left:
            found = ask(left, k)
            kept = self.best(found, depth)
            asked = pl.DataFrame({"query_hash": left}, schema={"query_hash": pl.Int64})
            counts = asked.join(found.group_by("query_hash").len("found"), on="query_hash", how="left").join(
                kept.group_by("query_hash").len("kept"), on="query_hash", how="left"
            )
            # Whoever was given fewer passages than were asked for has no more of them.
            short = counts.filter((pl.col("kept") < depth) & (pl.col("found") >= k))["query_hash"]
            whole.append(kept.filter(~pl.col("query_hash").is_in(short.implode())))
            left, k = short.to_list(), DEEPER * k
        return pl.concat(whole).sort("query_hash", "rank")

    def alike(self, ranking: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
        """Let a ranking show a document by the passage that another shows it by, so that both can be made one."""
        if self.parts is None:
            return ranking
        shown = self._expanded(other).unique(["query_hash", "document_hash"], keep="first", maintain_order=True)
        shown = shown.select("query_hash", "document_hash", shown="passage_hash")
        named = self._expanded(ranking).join(
            shown, on=["query_hash", "document_hash"], how="left", maintain_order="left"
        )
        named = named.with_columns(passage_hash=pl.coalesce("shown", "passage_hash")).unique(
            ["query_hash", "passage_hash"], keep="first", maintain_order=True
        )
        return named.select("query_hash", "passage_hash", "rank")

    def passages_of(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Every passage of documents: `query_hash, passage_hash` (the document's) → the same of all its passages."""
        if self.parts is None:
            return pairs.select("query_hash", "passage_hash")
        whole = pairs.select("query_hash", document_hash="passage_hash").join(self.parts, on="document_hash")
        return whole.select("query_hash", "passage_hash").unique(maintain_order=True)

    def _expanded(self, ranking: pl.DataFrame) -> pl.DataFrame:
        """`query_hash, passage_hash, rank, document_hash`, by query and rank."""
        assert self.parts is not None
        rows = ranking.select("query_hash", "passage_hash", "rank").join(self.parts, on="passage_hash")
        return rows.sort("query_hash", "rank", "document_hash")


def read_judgements(corpus: Artifact) -> pl.DataFrame:
    """Labels as they were given: `query_hash, passage_hash, grade, split`.

    Of a cut corpus, passage_hash is a document's; its labels.parquet names the passage that a student learns from.
    """
    path = corpus.path / JUDGEMENTS
    return pl.read_parquet(path if path.exists() else corpus.file("labels.parquet"))


def known_passages(corpus: Artifact) -> pl.DataFrame:
    """Every passage of every labelled positive, of all splits, with its duplicates: `query_hash, passage_hash`.

    A duplicate differs in case, spacing or Unicode form alone: what is right for a query is right in capitals, too.
    """
    positive = read_judgements(corpus).filter(pl.col("grade") > 0)
    whole = Documents.read(corpus).passages_of(positive).unique(maintain_order=True)
    texts = pl.read_parquet(corpus.file("passages.parquet"))
    forms = texts.select(passage_hash="hash", plain=plain_forms(texts["text"]))
    twins = forms.filter(pl.col("plain").is_duplicated())
    same = whole.join(twins, on="passage_hash").join(twins, on="plain", suffix="_of_twin")
    doubled = same.select("query_hash", passage_hash="passage_hash_of_twin")
    return pl.concat([whole, doubled]).unique(maintain_order=True)


def _counted() -> pl.Expr:
    return pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query_hash").alias("rank")
