"""Rankings by vectors, and what a teacher makes of their first passages."""

import numpy as np
import polars as pl

from tasks.artifacts import Artifact
from tasks.documents import Documents
from tasks.mine.search import top_k


def rank_by_vectors(
    corpus: Artifact, vectors: Artifact, queries: list[int], depth: int, dimension: int | None = None
) -> pl.DataFrame:
    """Rank all passages for some queries by the student's similarity; equal ones stay in the order of rows.

    Of a corpus whose documents were cut, each document is ranked by its best passage.

    Args:
        corpus: The corpus that was encoded.
        vectors: Its vectors, row-aligned.
        queries: Hashes of the queries to rank for; they must be in the corpus.
        depth: Passages kept per query; fewer where the corpus has fewer.
        dimension: The first numbers of every vector that count; None: all.

    Returns:
        `query_hash, passage_hash, rank, score`, by query, then by rank.

    Raises:
        ValueError: The vectors are not longer than the dimension, or vectors and texts differ in number, so rows
            would name the wrong texts.
    """
    passage_hashes = _hashes(corpus, "passages.parquet")
    query_hashes = _hashes(corpus, "queries.parquet")
    passage_vectors = _vectors(vectors, "passages.npy", len(passage_hashes))
    query_vectors = _vectors(vectors, "queries.npy", len(query_hashes))
    shown = passage_vectors if dimension is None else _shortened(passage_vectors, dimension, vectors)

    def ask(hashes: list[int], k: int) -> pl.DataFrame:
        rows = np.searchsorted(query_hashes, np.asarray(hashes, dtype=np.int64))
        asked = query_vectors[rows]
        scores, found = top_k(asked if dimension is None else _shortened(asked, dimension, vectors), shown, k)
        return as_ranking(query_hashes[rows], passage_hashes, scores, found)

    return Documents.read(corpus).retrieve(ask, queries, depth)


def as_ranking(queries: np.ndarray, passages: np.ndarray, scores: np.ndarray, rows: np.ndarray) -> pl.DataFrame:
    """Lay out what a search found as a ranking.

    Args:
        queries: Hashes of the queries, (Q,).
        passages: Hashes of all passages, (P,).
        scores: Best first, (Q, k).
        rows: Rows of passages, (Q, k).

    Returns:
        `query_hash, passage_hash, rank, score`.
    """
    kept = rows.shape[1]
    return pl.DataFrame(
        {
            "query_hash": np.repeat(queries, kept),
            "passage_hash": passages[rows.ravel()],
            "rank": np.tile(np.arange(1, kept + 1, dtype=np.int32), len(rows)),
            "score": scores.ravel().astype(np.float32),
        }
    )


def rerank(ranking: pl.DataFrame, judged: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Order the first `depth` passages of every ranking by a judgement; the rest stays below as it was.

    Args:
        ranking: `query_hash, passage_hash, rank, score`.
        judged: `query_hash, passage_hash, judgement` of at least the first `depth` passages; higher is better.
        depth: How many passages per query are judged.

    Returns:
        `query_hash, passage_hash, rank, score`; score is the judgement in the first `depth` ranks and the
        ranking's own below, so it can be compared within each part only.

    Raises:
        ValueError: One of the first `depth` passages has no judgement.
    """
    keys = ["query_hash", "passage_hash"]
    top = ranking.filter(pl.col("rank") <= depth).join(judged.select(*keys, "judgement"), on=keys, how="left")
    missing = top.filter(pl.col("judgement").is_null())
    if missing.height:
        raise ValueError(
            f"{missing.height} of the {top.height} pairs to re-rank have no judgement (for example query and passage "
            f"{missing.select(keys).row(0)}); put last, they would make the teacher look worse than it is"
        )
    order = pl.struct(-pl.col("judgement"), pl.col("rank")).rank("ordinal").over("query_hash").cast(pl.Int32)
    again = top.select(*keys, rank=order, score=pl.col("judgement").cast(pl.Float32))
    below = ranking.filter(pl.col("rank") > depth).select(*keys, "rank", "score")
    return pl.concat([again, below]).sort("query_hash", "rank")


def _hashes(corpus: Artifact, name: str) -> np.ndarray:
    return pl.read_parquet(corpus.file(name), columns=["hash"])["hash"].to_numpy()


def _vectors(vectors: Artifact, name: str, rows: int) -> np.ndarray:
    found: np.ndarray = np.load(vectors.file(name), mmap_mode="r")
    if len(found) != rows:
        raise ValueError(
            f"{vectors.path / name} has {len(found)} rows and the corpus {rows} texts; the ranks would name other texts"
        )
    return found


def _shortened(values: np.ndarray, dimension: int, vectors: Artifact) -> np.ndarray:
    """The first numbers of vectors (N, d), of unit length again where the similarity is cosine."""
    if dimension >= values.shape[1]:
        raise ValueError(f"{vectors.path}: vectors of {values.shape[1]} numbers cannot be shortened to {dimension}")
    cut = values[:, :dimension]
    return cut / np.linalg.norm(cut, axis=1, keepdims=True) if vectors.facts["similarity"] == "cosine" else cut
