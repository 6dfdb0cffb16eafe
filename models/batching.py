"""Length-sorted batches: padding every batch to its longest text wastes half the work on mixed lengths."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Item = TypeVar("Item")
_END: object = object()


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
    if most is not None and most < 1:
        raise ValueError(f"a chunk needs room for one text, got most={most}")
    order, longest_first = _longest_first(lengths, tokens)
    limit = most if most is not None else max(1, len(lengths))
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


def full_chunks(lengths: Sequence[int], tokens: int, multiple: int = 1) -> list[list[int]]:
    """Cut texts into full chunks of few shapes: every chunk of one width has the same number of texts, but the last.

    oneDNN compiles a kernel for every new number of rows in a matrix product, some 25 ms for a batch that
    computes in 60: with evened chunks every batch is a new shape, and a third of an encoding goes there.

    Args:
        lengths: Tokens of each text, special tokens included.
        tokens: The budget in padded tokens; a text longer than it gets a chunk of its own.
        multiple: Widths are taken as rounded up to this, as `pad` is to be told as well.

    Returns:
        Positions in `lengths`, longest chunk first; every position exactly once. Texts of equal length
        keep their order.

    Raises:
        ValueError: The budget or the multiple is below 1, or a length is negative.
    """
    if multiple < 1:
        raise ValueError(f"widths need a multiple of 1 or more, got {multiple}")
    order, longest_first = _longest_first(lengths, tokens)
    widths = -(-longest_first // multiple) * multiple
    return [order[start:stop].tolist() for start, stop in _cuts(widths, tokens, max(1, len(lengths)))]


def pad(
    rows: Sequence[Sequence[int] | NDArray[np.int32]], value: int, side: str = "right", multiple: int = 1
) -> tuple[Tensor, Tensor]:
    """Pad token lists to the longest of them, or to the next multiple of a number above that.

    Args:
        rows: N lists of ids.
        value: The id that fills the gaps.
        side: Where the gaps go, "right" or "left".
        multiple: Few different widths spare a CPU library that compiles a kernel for each. Only on the right:
            further gaps on the left would move the positions of a model that counts them.

    Returns:
        ids (N, T) int64, and mask (N, T) int64 with 1 where a token is real.
    """
    lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    step = multiple if side == "right" else 1
    width = -(-int(lengths.max(initial=0)) // step) * step
    columns = np.arange(width)
    real = columns < lengths[:, None] if side == "right" else columns >= width - lengths[:, None]
    ids = np.full((len(rows), width), value, dtype=np.int64)
    ids[real] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows]) if len(rows) else []
    return torch.from_numpy(ids), torch.from_numpy(real.astype(np.int64))


def ahead(items: Iterable[Item], wanted: bool) -> Iterator[Item]:
    """Yield items, each made by a thread while the device computes on the one before.

    Args:
        items: Made lazily; an error in the making is raised here, at its place.
        wanted: False makes them in turn: where the CPU computes, a second thread would only fight for its cores.
    """
    source = iter(items)
    if not wanted:
        yield from source
        return
    with ThreadPoolExecutor(max_workers=1) as worker:
        coming = worker.submit(next, source, _END)
        while (item := coming.result()) is not _END:
            coming = worker.submit(next, source, _END)
            yield item  # type: ignore[misc]


def _longest_first(lengths: Sequence[int], tokens: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the order from the longest to the shortest, equals in theirs, and the lengths in it."""
    if tokens < 1:
        raise ValueError(f"a chunk needs room for one token, got tokens={tokens}")
    sizes = np.asarray(lengths, dtype=np.int64)
    if sizes.size and sizes.min() < 0:
        raise ValueError(f"text {int(sizes.argmin())} has {int(sizes.min())} tokens; a length cannot be negative")
    order = np.argsort(-sizes, kind="stable")
    return order, sizes[order]


def _cuts(longest_first: NDArray[np.int64], tokens: int, limit: int) -> list[tuple[int, int]]:
    """Cut greedily: the first of a chunk is its longest and says how many fit."""
    cuts, start = [], 0
    while start < longest_first.size:
        fit = max(1, tokens // max(1, int(longest_first[start])))
        stop = min(start + min(fit, limit), longest_first.size)
        cuts.append((start, stop))
        start = stop
    return cuts
