"""One judgement from two opinions: the teacher's logit and the incumbent student's similarity."""

import numpy as np
import numpy.typing as npt
import polars as pl

from tasks.artifacts import Artifact
from tasks.mine.mapped import products

LEAST_DEVIATION = 1e-6  # below it, scores that differ only by rounding would be blown up to whole deviations


def blended(frame: pl.DataFrame, weight: float) -> pl.Series:
    """Mix logit and similarity, each standardised over the rows of its query.

    Each part becomes (x − mean) / max(deviation, 1e-6) over the query's rows that have a logit, with the
    deviation of the whole (not of a sample): a query with one row, or with equal scores, gets zeros.

    Args:
        frame: `query_hash, logit, similarity`, one row per pair; rows without a logit get no judgement and
            take no part in the means. Where there is a column `counted`, only its rows take part: a list that is
            longer than those the weight was chosen on would otherwise have other means.
        weight: The teacher's share; 1 returns the raw logits as they are.

    Returns:
        `raw`, Float64, aligned with the frame: a logit at weight 1, else a mix without unit.

    Raises:
        ValueError: A row has a logit and no similarity, or the weight is outside 0–1.
    """
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"a blend's weight is the teacher's share, 0 to 1, not {weight}")
    if weight == 1.0:
        return frame["logit"].cast(pl.Float64).alias("raw")
    missing = frame.filter(pl.col("logit").is_not_null() & pl.col("similarity").is_null())
    if missing.height:
        raise ValueError(
            f"{missing.height} scored pairs have no similarity (query hash {missing['query_hash'][0]}); "
            "a blend without it would compare different things"
        )
    counted = pl.col("counted") if "counted" in frame.columns else pl.lit(True)
    mixed = weight * standardised("logit", counted) + (1.0 - weight) * standardised("similarity", counted)
    return frame.select(raw=mixed)["raw"]


def standardised(name: str, counted: pl.Expr) -> pl.Expr:
    """A column's standard scores within each query, by mean and deviation of the counted rows that have a logit."""
    value = pl.when(pl.col("logit").is_not_null()).then(pl.col(name).cast(pl.Float64))
    taken = pl.when(counted).then(value)
    deviation = taken.std(ddof=0).over("query_hash")
    least = pl.lit(LEAST_DEVIATION)
    return (value - taken.mean().over("query_hash")) / pl.max_horizontal(deviation, least)


def similarities(vectors: Artifact, corpus: Artifact, pairs: pl.DataFrame) -> pl.Series:
    """Look up the student's similarity of pairs of one corpus.

    Args:
        vectors: passages.npy and queries.npy, row-aligned with the corpus.
        corpus: passages.parquet and queries.parquet, each sorted by hash.
        pairs: `query_hash, passage_hash`.

    Returns:
        `similarity`, Float32, aligned with the pairs.

    Raises:
        ValueError: A text of a pair is not in the corpus.
    """
    queries = _rows(corpus, "queries", pairs["query_hash"])
    passages = _rows(corpus, "passages", pairs["passage_hash"])
    of_queries = np.load(vectors.file("queries.npy"), mmap_mode="r")
    of_passages = np.load(vectors.file("passages.npy"), mmap_mode="r")
    return pl.Series("similarity", products((of_queries, queries), (of_passages, passages)))


def _rows(corpus: Artifact, name: str, hashes: pl.Series) -> npt.NDArray[np.int64]:
    known = pl.read_parquet(corpus.file(f"{name}.parquet"), columns=["hash"]).with_row_index("row")
    found = hashes.alias("hash").to_frame().join(known, on="hash", how="left", maintain_order="left")
    missing = found.filter(pl.col("row").is_null())
    if missing.height:
        raise ValueError(
            f"{corpus.path}: {missing.height} of {len(hashes)} texts named by pairs are not among its {name}"
        )
    return found["row"].cast(pl.Int64).to_numpy()
