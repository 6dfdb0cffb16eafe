"""Exact search by inner product in bounded memory, with an order that is the same on every run."""

import numpy as np
import torch

from tasks.mine.mapped import Rows, Scores, read_block

QUERY_BLOCK = 256  # with a block of passages, 128 MB of products
PASSAGE_BLOCK = 131_072


def top_k(queries: Scores, passages: Scores, k: int) -> tuple[Scores, Rows]:
    """Find the k passages with the greatest inner product for each query.

    Ties go to the lower passage row, also at the end of the list, so the result doesn't depend on the
    library's heap or on the sizes of blocks. Every block of passages is read once, searched for all queries, and
    its finds are merged with those so far. Memory: one block (131,072 rows; vectors may be memory-mapped), its
    products with 256 queries, and the results.

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
    check_shapes(queries, passages, k)
    check_finite("query", queries, 0)
    wanted = min(k, len(passages))
    scores = np.empty((len(queries), wanted), np.float32)
    rows = np.empty((len(queries), wanted), np.int64)
    held = 0
    for first in range(0, len(passages), PASSAGE_BLOCK):
        block = read_block(passages, first, first + PASSAGE_BLOCK)
        check_finite("passage", block, first)
        kept = min(wanted, held + len(block))
        for start in range(0, len(queries), QUERY_BLOCK):
            part = slice(start, start + QUERY_BLOCK)
            found = _search_block(np.ascontiguousarray(queries[part], np.float32), block, min(wanted, len(block)))
            merged = _merged((scores[part, :held], rows[part, :held]), (found[0], found[1] + first), kept)
            scores[part, :kept], rows[part, :kept] = merged
        held = kept
        del block  # before the next is read: one block is in memory at a time
    return scores, rows


def _merged(held: tuple[Scores, Rows], found: tuple[Scores, Rows], k: int) -> tuple[Scores, Rows]:
    """The best k of what was held and what was found: (q, n) and (q, m) → (q, k)."""
    if not held[0].shape[1]:
        return found
    return ordered(np.concatenate([held[0], found[0]], axis=1), np.concatenate([held[1], found[1]], axis=1), k)


def _search_block(queries: Scores, passages: Scores, k: int) -> tuple[Scores, Rows]:
    """Search one block; where the k-th and the next score tie, look further until the tie ends."""
    depth = min(k + 1, len(passages))
    found, ids = _knn(queries, passages, depth)
    scores, rows = ordered(found, ids, k)
    open_ = np.flatnonzero(found[:, -1] == found[:, k - 1])
    while depth < len(passages) and len(open_):
        depth = min(2 * depth, len(passages))
        found, ids = _knn(np.ascontiguousarray(queries[open_]), passages, depth)
        scores[open_], rows[open_] = ordered(found, ids, k)
        open_ = open_[found[:, -1] == found[:, k - 1]]
    return scores, rows


def _knn(queries: Scores, passages: Scores, k: int) -> tuple[Scores, Rows]:
    """The k greatest inner products by torch; see benchmarks/mining.py for FAISS's exact search beside it."""
    writable = [np.require(vectors, np.float32, ["C", "W"]) for vectors in (queries, passages)]
    products = torch.from_numpy(writable[0]) @ torch.from_numpy(writable[1]).T
    scores, rows = torch.topk(products, k, dim=1)
    return scores.numpy(), rows.numpy()


def ordered(scores: Scores, rows: Rows, k: int) -> tuple[Scores, Rows]:
    """Sort each query's finds by (score descending, row) and keep k: (q, n) → (q, k)."""
    order = np.lexsort((rows, -scores), axis=1)[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


def check_shapes(queries: Scores, passages: Scores, k: int) -> None:
    """Refuse what no search can answer."""
    if k < 1:
        raise ValueError(f"k is {k}; a search needs at least 1")
    if queries.ndim != 2 or passages.ndim != 2 or queries.shape[1] != passages.shape[1]:
        raise ValueError(f"queries {queries.shape} and passages {passages.shape} need the form (n, d) with the same d")
    if not len(passages):
        raise ValueError("there are no passages to search")


def check_finite(name: str, vectors: Scores, first: int) -> None:
    """Refuse vectors with NaN or ±inf; `first` is the row that the block begins at."""
    bad = np.flatnonzero(~np.isfinite(vectors.sum(axis=1)))
    bad = bad[~np.isfinite(vectors[bad]).all(axis=1)]
    if len(bad):
        raise ValueError(f"{name} row {first + bad[0]} holds numbers that aren't finite; encode again")
