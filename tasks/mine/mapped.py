"""Vectors in files that may be larger than memory: read a block, gather rows, let pages go."""

import mmap
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

GATHERED = 2_048  # rows of one gathering: what is gathered stays in the processor's cache
GAP = 8  # rows between two wanted ones that cost less to read along than a read of its own


def read_block(vectors: Scores, first: int, last: int) -> Scores:
    """Rows first to last, (n, d), float32, contiguous.

    Of a memory-mapped file they are read instead of mapped: mapped pages stay in the process's memory until
    somebody else needs it, so a search over a large file would seem to hold all of it.
    """
    if isinstance(vectors, np.memmap) and _mapping(vectors) and vectors.flags.c_contiguous:
        width, last = vectors.shape[1], min(last, len(vectors))
        start = vectors.offset + first * width * vectors.itemsize
        read = np.fromfile(str(vectors.filename), vectors.dtype, (last - first) * width, offset=start)
        return np.ascontiguousarray(read.reshape(last - first, width), np.float32)
    return np.ascontiguousarray(vectors[first:last], np.float32)


def products(left: tuple[Scores, Rows], right: tuple[Scores, Rows]) -> Scores:
    """Inner products of rows of one array with rows of another, pair by pair, (n,), float32.

    Args:
        left: Vectors (L, d), and rows of them (n,).
        right: Vectors (R, d), and rows of them (n,).
    """
    found = np.empty(len(left[1]), np.float32)
    for first in range(0, len(found), GATHERED):
        part = slice(first, first + GATHERED)
        found[part] = np.einsum("nd,nd->n", gather(left[0], left[1][part]), gather(right[0], right[1][part]))
    return found


def gather(vectors: Scores, rows: Rows) -> Scores:
    """Rows of an array in any order, (n, d), float32."""
    if _mapping(vectors) is None:
        return np.asarray(vectors[rows], np.float32)
    held, place = gather_distinct(vectors, rows)
    return held[place]


def gather_distinct(vectors: Scores, rows: Rows) -> tuple[Scores, Rows]:
    """The distinct ones among rows of an array, (m, d), float32, and for each asked row its place among them, (n,).

    Of a memory-mapped file they are read, in runs: a row that is touched in a mapping takes up to two megabytes around
    it into the process's memory, so a thousand scattered ones would seem to hold the whole file.
    """
    wanted, place = np.unique(rows, return_inverse=True)
    if _mapping(vectors) is None:
        return np.asarray(vectors[wanted], np.float32), place
    held = np.empty((len(wanted), vectors.shape[1]), np.float32)
    edges = [0, *(np.flatnonzero(np.diff(wanted) > GAP) + 1), len(wanted)]
    for first, last in pairwise(edges if len(wanted) else []):
        run = wanted[first:last]
        held[first:last] = read_block(vectors, run[0], run[-1] + 1)[run - run[0]]
    return held, place


def let_go(vectors: Scores) -> None:
    """Give a mapped file's pages back to the system; they are read again when somebody asks."""
    opened = _mapping(vectors)
    if opened is not None:
        opened.madvise(mmap.MADV_DONTNEED)


def _mapping(vectors: Scores) -> mmap.mmap | None:
    """The mapping that a whole file is read through; a slice of it can't tell where in the file its rows stand."""
    base: object = vectors.base
    return base if isinstance(vectors, np.memmap) and isinstance(base, mmap.mmap) else None
