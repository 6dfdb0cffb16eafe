"""Exact search by inner product in bounded memory, with an order that is the same on every run."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Scores = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

QUERY_BLOCK = 1024
PASSAGE_BLOCK = 262_144


def top_k(queries: Scores, passages: Scores, k: int) -> tuple[Scores, Rows]:
    """Find the k passages with the greatest inner product for each query.

    Ties go to the lower passage row, also at the end of the list, so the result doesn't depend on the
    library's heap or on the sizes of blocks. Memory: one block of passages (262,144 rows; vectors may be
    memory-mapped) and the results.

    Args:
        queries: Vectors, (Q, d), float32; already normalised where similarity is the cosine.
        passages: Vectors, (P, d), float32.
        k: Passages wanted per query, at least 1.

    Returns:
        Scores and passage rows, both (Q, min(k, P)), best first.

    Raises:
        ValueError: The shapes don't fit, k < 1, or a vector holds a number that isn't finite (it would
            compare with nothing, and the search would leave passages out without a word).
    """
    _check(queries, passages, k)
    wanted = min(k, len(passages))
    scores = np.empty((len(queries), wanted), np.float32)
    rows = np.empty((len(queries), wanted), np.int64)
    for first in range(0, len(queries), QUERY_BLOCK):
        block = np.ascontiguousarray(queries[first : first + QUERY_BLOCK], np.float32)
        found = _search_blocks(block, passages, wanted)
        scores[first : first + len(block)], rows[first : first + len(block)] = found
    return scores, rows


def _search_blocks(queries: Scores, passages: Scores, k: int) -> tuple[Scores, Rows]:
    """Search one block of passages after the other and merge: (q, d) against (P, d) → (q, k)."""
    scores = np.empty((len(queries), 0), np.float32)
    rows = np.empty((len(queries), 0), np.int64)
    for first in range(0, len(passages), PASSAGE_BLOCK):
        block = np.ascontiguousarray(passages[first : first + PASSAGE_BLOCK], np.float32)
        block_scores, block_rows = _search_block(queries, block, min(k, len(block)))
        scores = np.concatenate([scores, block_scores], axis=1)
        rows = np.concatenate([rows, block_rows + first], axis=1)
        scores, rows = _ordered(scores, rows, k)
    return scores, rows


def _search_block(queries: Scores, passages: Scores, k: int) -> tuple[Scores, Rows]:
    """Search one block; where the k-th and the next score tie, look further until the tie ends."""
    depth = min(k + 1, len(passages))
    found, ids = _knn(queries, passages, depth)
    scores, rows = _ordered(found, ids, k)
    open_ = np.flatnonzero(found[:, -1] == found[:, k - 1])
    while depth < len(passages) and len(open_):
        depth = min(2 * depth, len(passages))
        found, ids = _knn(queries, passages, depth)
        scores[open_], rows[open_] = _ordered(found[open_], ids[open_], k)
        open_ = open_[found[open_, -1] == found[open_, k - 1]]
    return scores, rows


def _knn(queries: Scores, passages: Scores, k: int) -> tuple[Scores, Rows]:
    """FAISS's exact inner-product search (the kernel of IndexFlatIP) without copying the passages."""
    import faiss

    # torch's count is the one that was configured; FAISS brings its own OpenMP runtime, which would take every core
    faiss.omp_set_num_threads(torch.get_num_threads())
    found: tuple[Any, Any] = faiss.knn(queries, passages, k, metric=faiss.METRIC_INNER_PRODUCT)
    return found[0], found[1]


def _ordered(scores: Scores, rows: Rows, k: int) -> tuple[Scores, Rows]:
    """Sort each query's finds by (score descending, row) and keep k: (q, n) → (q, k)."""
    order = np.lexsort((rows, -scores), axis=1)[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


def _check(queries: Scores, passages: Scores, k: int) -> None:
    if k < 1:
        raise ValueError(f"k is {k}; a search needs at least 1")
    if queries.ndim != 2 or passages.ndim != 2 or queries.shape[1] != passages.shape[1]:
        raise ValueError(f"queries {queries.shape} and passages {passages.shape} need the form (n, d) with the same d")
    if not len(passages):
        raise ValueError("there are no passages to search")
    for name, vectors in (("query", queries), ("passage", passages)):
        for first in range(0, len(vectors), PASSAGE_BLOCK):
            bad = np.flatnonzero(~np.isfinite(vectors[first : first + PASSAGE_BLOCK]).all(axis=1))
            if len(bad):
                raise ValueError(f"{name} row {first + bad[0]} holds numbers that aren't finite; encode again")
