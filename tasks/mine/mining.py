"""Finding candidates: retrieve, take out what is known, count ranks, keep the window."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.mine.excluded import WHY, excluded_rows, train_queries
from tasks.mine.search import QUERY_BLOCK, Scores, top_k
from tasks.mine.settings import Mining
from tasks.progress import Tick, progress

VERSION = 1
KEYS = ["query_hash", "passage_hash"]


def mine_candidates(root: Path, corpus: Artifact, vectors: Artifact, settings: Mining) -> Artifact:
    """Mine every train query that has a positive.

    Writes candidates.parquet (`query_hash, passage_hash, rank, student_score, miner`, by query and rank) and
    pairs.parquet (`query_hash, passage_hash`: candidates and labelled positives, each once).

    Args:
        root: Folder of all artifacts.
        corpus: passages, queries and labels.
        vectors: Vectors of this corpus by the mining student.
        settings: Depth and window.

    Raises:
        ValueError: There is no train query with a positive, a train label belongs to another split, or the
            vectors are not those of this corpus.
    """

    def build(folder: Path) -> Mapping[str, Any]:
        return _write(folder, corpus, vectors, settings)

    inputs = {"corpus": corpus.fingerprint, "vectors": vectors.fingerprint}
    return make_artifact(root, "mine", VERSION, settings, inputs, build)


def _write(folder: Path, corpus: Artifact, vectors: Artifact, settings: Mining) -> dict[str, Any]:
    names = ("passages", "queries", "labels")
    passages, queries, labels = (pl.read_parquet(corpus.file(f"{name}.parquet")) for name in names)
    mined = train_queries(queries, labels, settings.query_share)
    if not mined.height:
        raise ValueError(f"{corpus.path}: no train query has a positive label, so there is nothing to mine for")
    excluded = excluded_rows(mined, passages, labels)
    with progress("mine", mined.height, "queries") as tick:
        found = search(_vectors(vectors, len(queries), len(passages)), mined, excluded, settings, tick)
    candidates = _by_hash(found, passages["hash"], queries["hash"], settings)
    positives = labels.filter(pl.col("grade") > 0).join(mined, left_on="query_hash", right_on="hash", how="semi")
    pairs = pl.concat([candidates.select(KEYS), positives.select(KEYS)]).unique().sort(KEYS)
    candidates.write_parquet(folder / "candidates.parquet", compression="zstd")
    pairs.write_parquet(folder / "pairs.parquet", compression="zstd")
    return _facts(candidates, pairs, mined, excluded, settings)


def search(
    vectors: tuple[Scores, Scores], mined: pl.DataFrame, excluded: pl.DataFrame, settings: Mining, tick: Tick
) -> pl.DataFrame:
    """Retrieve in blocks of queries and keep each query's window.

    Args:
        vectors: Query vectors (Q, d) and passage vectors (P, d).
        mined: `row, hash, text` of the queries to mine for.
        excluded: `query_row, passage_row` that no list may hold.
        settings: Depth and window.
        tick: Called with the number of queries done.

    Returns:
        `query_row, passage_row, rank, student_score`, by query row and rank.
    """
    most = excluded.group_by("query_row").len()["len"].max()
    wanted = settings.depth + (int(most) if isinstance(most, int) else 0)
    windows = []
    for rows in _blocks(mined["row"].to_numpy()):
        scores, passage_rows = top_k(vectors[0][rows], vectors[1], wanted)
        windows.append(window(rows, scores, passage_rows, excluded, settings))
        tick(len(rows))
    return pl.concat(windows)


def window(
    query_rows: Any, scores: Scores, passage_rows: Any, excluded: pl.DataFrame, settings: Mining
) -> pl.DataFrame:
    """Turn retrieved lists into windows: excluded passages out, ranks counted, the window kept.

    Args:
        query_rows: Row of each list's query, (n,).
        scores: Similarities, (n, k), best first.
        passage_rows: Passage rows, (n, k); -1 where a search found fewer than asked.
        excluded: `query_row, passage_row` that no list may hold.
        settings: Depth and window.
    """
    length = scores.shape[1]
    return (
        pl.DataFrame(
            {
                "query_row": np.repeat(np.asarray(query_rows, np.int64), length),
                "passage_row": np.ascontiguousarray(passage_rows, np.int64).reshape(-1),
                "student_score": np.ascontiguousarray(scores, np.float32).reshape(-1),
            }
        )
        .filter(pl.col("passage_row") >= 0)
        .join(excluded, on=["query_row", "passage_row"], how="anti", maintain_order="left")
        .with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query_row"))
        .filter(pl.col("rank").is_between(settings.first_rank, settings.last_rank))
        .select("query_row", "passage_row", "rank", "student_score")
    )


def _blocks(rows: Any) -> Iterator[Any]:
    for first in range(0, len(rows), QUERY_BLOCK):
        yield rows[first : first + QUERY_BLOCK]


def _vectors(vectors: Artifact, queries: int, passages: int) -> tuple[Scores, Scores]:
    """Open the vectors as memory maps: (Q, d), (P, d)."""
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


def _by_hash(found: pl.DataFrame, passages: pl.Series, queries: pl.Series, settings: Mining) -> pl.DataFrame:
    """Name the rows by their texts' hashes."""
    named = found.select(
        query_hash=queries.gather(found["query_row"]),
        passage_hash=passages.gather(found["passage_row"]),
        rank="rank",
        student_score="student_score",
        miner=pl.lit(settings.miner),
    )
    return named.sort("query_hash", "rank")


def _facts(
    candidates: pl.DataFrame, pairs: pl.DataFrame, mined: pl.DataFrame, excluded: pl.DataFrame, settings: Mining
) -> dict[str, Any]:
    lengths = mined.join(candidates.group_by("query_hash").len(), left_on="hash", right_on="query_hash", how="left")
    asked = settings.last_rank - settings.first_rank + 1
    return {
        "queries": mined.height,
        "candidates": candidates.height,
        "pairs": pairs.height,
        "short_lists": lengths.filter(pl.col("len").fill_null(0) < asked).height,
        "excluded": {why: excluded.filter(pl.col("why") == why).height for why in WHY},
    }
