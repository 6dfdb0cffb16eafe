"""Length-sorted batches: padding every batch to its longest text wastes half the work on mixed lengths."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def chunks_by_length(lengths: Sequence[int], tokens: int, most: int | None = None) -> list[list[int]]:
    """Cut texts into chunks of like length, none of which costs more than a budget of padded tokens.

    A chunk costs its longest text times its size. The number of chunks is the smallest that a pass from
    the longest to the shortest finds; then the budget is tightened as far as that number allows, so that
    no small remainder is left over.

    Args:
        lengths: Tokens of each text, special tokens included.
        tokens: The budget in padded tokens; a text longer than it gets a chunk of its own.
        most: Most texts in one chunk; None is no limit.

    Returns:
        Positions in `lengths`, longest chunk first; every position exactly once. Texts of equal length
        keep their order.

    Raises:
        ValueError: The budget or the limit is below 1, or a length is negative.
    """
    if tokens < 1 or (most is not None and most < 1):
        raise ValueError(f"a chunk needs room for one token and one text, got tokens={tokens}, most={most}")
    sizes = np.asarray(lengths, dtype=np.int64)
    if sizes.size and sizes.min() < 0:
        raise ValueError(f"text {int(sizes.argmin())} has {int(sizes.min())} tokens; a length cannot be negative")
    order = np.argsort(-sizes, kind="stable")
    longest_first = sizes[order]
    limit = most if most is not None else max(1, sizes.size)
    cuts = _cuts(longest_first, tokens, limit)
    low, high = 1, tokens
    while low < high:
        middle = (low + high) // 2
        tighter = _cuts(longest_first, middle, limit)
        if len(tighter) <= len(cuts):
            high = middle
        else:
            low = middle + 1
    cuts = _cuts(longest_first, high, limit)
    return [order[start:stop].tolist() for start, stop in cuts]


def even_chunks(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Cut texts into the fewest chunks of at most `size`, of like length and sizes that differ by at most one.

    Args:
        lengths: Tokens of each text.
        size: Most texts in a chunk.

    Returns:
        Positions in `lengths`, longest chunk first; every position exactly once.

    Raises:
        ValueError: `size` is below 1.
    """
    if size < 1:
        raise ValueError(f"a chunk needs room for one text, got size={size}")
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    if order.size == 0:
        return []
    return [part.tolist() for part in np.array_split(order, -(-order.size // size))]


def pad(rows: Sequence[Sequence[int] | NDArray[np.int32]], value: int, side: str = "right") -> tuple[Tensor, Tensor]:
    """Pad token lists to the longest of them.

    Args:
        rows: N lists of ids.
        value: The id that fills the gaps.
        side: Where the gaps go, "right" or "left".

    Returns:
        ids (N, T) int64, and mask (N, T) int64 with 1 where a token is real.
    """
    lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    width = int(lengths.max(initial=0))
    columns = np.arange(width)
    real = columns < lengths[:, None] if side == "right" else columns >= width - lengths[:, None]
    ids = np.full((len(rows), width), value, dtype=np.int64)
    ids[real] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows]) if len(rows) else []
    return torch.from_numpy(ids), torch.from_numpy(real.astype(np.int64))


def _cuts(longest_first: NDArray[np.int64], tokens: int, limit: int) -> list[tuple[int, int]]:
    """Cut greedily: the first of a chunk is its longest and says how many fit."""
    cuts, start = [], 0
    while start < longest_first.size:
        fit = max(1, tokens // max(1, int(longest_first[start])))
        stop = min(start + min(fit, limit), longest_first.size)
        cuts.append((start, stop))
        start = stop
    return cuts
