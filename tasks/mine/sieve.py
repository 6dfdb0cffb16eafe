"""A sieve before exact search: cheap products tell which passages can be among a query's first k.

Products of bf16 vectors take a fraction of the time of float32 where the processor multiplies bf16 natively. How far
they are off is bounded: with q' and p' the rounded vectors, |q·p - q'·p'| ≤ |q - q'| |p| + |q'| |p - p'| (by Cauchy and
Schwarz), and all four lengths are known. So nothing that could be among the first k is lost, and what passes is few
enough to be scored exactly.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tasks.mine.mapped import Rows, Scores

GROUP = 32  # products of which the greatest stands for all, when the k-th greatest is estimated
CHUNK = 4096  # rows whose lengths are taken at once
MANY = 8  # times k: where more pass, a finer sieve is cheaper than scoring them
UNIT32, UNIT16 = 2.0**-24, 2.0**-8  # what rounding to float32 and to bf16 is off by at most, as a share

Lengths = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rounded:
    """Vectors as the sieve multiplies them, and how far they are from what they were.

    Attributes:
        vectors: (n, d), float32 or bf16.
        lengths: Euclidean length of each original vector, (n,).
        off: Euclidean distance of each from its original, (n,).
    """

    vectors: Tensor
    lengths: Lengths
    off: Lengths

    @classmethod
    def of(cls, vectors: Tensor, dtype: torch.dtype) -> "Rounded":
        """Round float32 vectors, or leave them as they are."""
        rounded, lengths, off = vectors.to(dtype), np.empty(len(vectors)), np.zeros(len(vectors))
        for first in range(0, len(vectors), CHUNK):
            part = slice(first, first + CHUNK)
            lengths[part] = torch.linalg.vector_norm(vectors[part], dim=1).numpy()
            if dtype != torch.float32:
                off[part] = torch.linalg.vector_norm(vectors[part] - rounded[part], dim=1).numpy()
        return cls(rounded, lengths, off)


class Sieve:
    """One block of passages, asked by many queries.

    Attributes:
        passages: The block's vectors.
        rough: Whether they are bf16.
    """

    def __init__(self, passages: Tensor, dtype: torch.dtype) -> None:
        """Take a block of float32 vectors, (P, d), rounded to `dtype`: float32 or bf16."""
        self.passages, self.rough = Rounded.of(passages, dtype), dtype == torch.bfloat16
        self._room: dict[torch.dtype, Tensor] = {}

    def passing(self, queries: Tensor, k: int, floor: Lengths) -> tuple[Rows, Rows, npt.NDArray[np.bool_]]:
        """Find what can be among the first k of each query.

        Args:
            queries: Vectors, (q, d), float32.
            k: Passages wanted per query.
            floor: What a score must reach to matter, because k better ones are known, (q,); -inf where there are none.

        Returns:
            Pairs that pass, as query places and passage rows, by query and row; and which queries need a float32
            sieve, (q,): these have no pairs.
        """
        asked = Rounded.of(queries, self.passages.vectors.dtype)
        products = self._products(asked.vectors)
        error = self._error(asked)
        least = np.maximum(floor, self._kth(products, k) - error) - error
        least = np.where(np.isnan(least), -np.inf, least)  # lengths beyond float32: nothing can be told
        threshold = torch.from_numpy(self._threshold(least))[:, None]
        mask = torch.ge(products, threshold, out=self._space(torch.bool, len(queries)))
        places, rows = np.divmod(np.flatnonzero(mask.numpy()), products.shape[1])
        if not self.rough:
            return places, rows, np.zeros(len(queries), bool)
        unable = (least <= 0) | (np.bincount(places, minlength=len(queries)) > MANY * k)
        able = ~unable[places]
        return places[able], rows[able], unable

    def _products(self, queries: Tensor) -> Tensor:
        """Products as numbers that compare like them, (q, P): bf16 ones above zero do as the integers of their bits."""
        found = self._space(queries.dtype, len(queries))
        torch.mm(queries, self.passages.vectors.T, out=found)
        return found.view(torch.int16) if self.rough else found

    def _kth(self, products: Tensor, k: int) -> Lengths:
        """What at least k products of each query reach, (q,), nearly the k-th greatest; -inf where there are fewer.

        The greatest of every group is looked at instead of every product.
        """
        held = products.shape[1]
        if held < k:
            return np.full(len(products), -np.inf)
        size = max(1, min(GROUP, held // (MANY * k)))
        groups = held // size
        most = products[:, : size * groups].view(len(products), size, groups).amax(1).numpy()
        kth = np.partition(most, groups - k, axis=1)[:, groups - k]
        if self.rough:
            rounded = (kth.astype(np.int32) << 16).view(np.float32).astype(np.float64)
            lowest: Lengths = rounded - np.abs(rounded) * UNIT16  # what was rounded up to it may have been this low
            return lowest
        exact: Lengths = kth.astype(np.float64)
        return exact

    def _error(self, asked: Rounded) -> Lengths:
        """What a product is off by at most from the score in float32, (q,); beside rounding, both sum d terms."""
        longest, farthest = self.passages.lengths.max(), self.passages.off.max()
        summing = 2 * asked.vectors.shape[1] * UNIT32
        error: Lengths = 1.001 * (
            asked.off * longest + (asked.lengths + asked.off) * farthest + summing * asked.lengths * longest
        )
        return error

    def _threshold(self, least: Lengths) -> npt.NDArray[np.int16] | Scores:
        """The least comparable number that a product of at least `least` can be rounded to, (q,)."""
        below = np.nextafter(least.astype(np.float32), np.float32(-np.inf))
        if not self.rough:
            return below
        bits = (below.view(np.int32) >> 16).astype(np.int16)  # cut, so rounded down
        return np.where(least > 0, bits, np.iinfo(np.int16).max).astype(np.int16)

    def _space(self, dtype: torch.dtype, queries: int) -> Tensor:
        """Room for a number per query and passage, (q, P), used again: new memory costs as much as the products."""
        if dtype not in self._room or len(self._room[dtype]) < queries:
            self._room[dtype] = torch.empty(queries, len(self.passages.vectors), dtype=dtype)
        return self._room[dtype][:queries]
