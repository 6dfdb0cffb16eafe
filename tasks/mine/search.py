"""Exact search by inner product in bounded memory, with an order that is the same on every run."""

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from models.runtime import native_bf16
from tasks.mine.mapped import Rows, Scores, read_block
from tasks.mine.order import NOTHING, Keys, finds_of, keys_of
from tasks.mine.sieve import Lengths, Sieve

QUERY_BLOCK = 256  # with a block of passages, 32 MB of bf16 products or 64 MB of float32 ones
PASSAGE_BLOCK = 65_536
WORTH = 64  # passages per passage wanted from which a rough sieve saves time
PAIRS = 1024  # pairs scored at once: their vectors must stay in the processor's cache


def top_k(queries: Scores, passages: Scores, k: int) -> tuple[Scores, Rows]:
    """Find the k passages with the greatest inner product for each query.

    Ties go to the lower passage row, also at the end of the list, and a pair's score depends on its two vectors alone,
    so the result doesn't depend on the sizes of blocks or on how the sieve was cut. Every block of passages is read
    once and searched for all queries; what passes its sieve is scored in float32 and merged with the best so far.
    Memory: one block (65,536 rows; vectors may be memory-mapped), half of it again as bf16, its products with 256
    queries, and the results.

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
    wanted, held = min(k, len(passages)), 0
    keys = np.empty((len(queries), wanted), np.uint64)
    for first in range(0, len(passages), PASSAGE_BLOCK):
        read = read_block(passages, first, first + PASSAGE_BLOCK)
        check_finite("passage", read, first)
        block, kept = Block(read, wanted), min(wanted, held + len(read))
        for start in range(0, len(queries), QUERY_BLOCK):
            part = slice(start, start + QUERY_BLOCK)
            asked = np.require(queries[part], np.float32, ["C", "W"])
            keys[part, :kept] = _better(keys[part, :held], block, torch.from_numpy(asked), first, kept)
        held = kept
        del block, read  # before the next is read: one block is in memory at a time
    return finds_of(keys)


class Block:
    """Passages in memory, behind a sieve of bf16 products where that is quick and worth it, and one of float32."""

    def __init__(self, passages: Scores, wanted: int) -> None:
        """Take vectors (P, d), float32, of which `wanted` are looked for at a time."""
        self.passages, self.wanted = torch.from_numpy(np.require(passages, np.float32, ["C", "W"])), wanted
        self.worth = len(passages) >= WORTH * wanted and native_bf16("cpu")

    @cached_property
    def rough(self) -> Sieve:
        """The sieve that lets too much through."""
        return Sieve(self.passages, torch.bfloat16)

    @cached_property
    def fine(self) -> Sieve:
        """The sieve that lets hardly anything through that doesn't belong."""
        return Sieve(self.passages, torch.float32)

    def ask(self, queries: Tensor, floor: Lengths) -> tuple[Rows, Rows]:
        """Pairs that can be among the first: query places and passage rows, by query; see `Sieve.passing`."""
        if not self.worth:
            return self.fine.passing(queries, self.wanted, floor)[:2]
        places, rows, unable = self.rough.passing(queries, self.wanted, floor)
        if not unable.any():
            return places, rows
        again = np.flatnonzero(unable)
        more, found = self.fine.passing(queries[torch.from_numpy(again)], self.wanted, floor[again])[:2]
        places, rows = np.concatenate([places, again[more]]), np.concatenate([rows, found])
        order = np.argsort(places, kind="stable")
        return places[order], rows[order]

    def scores(self, queries: Tensor, places: Rows, rows: Rows) -> Scores:
        """Inner products of pairs, (n,): a pair's is the same whatever else it is computed with."""
        found = torch.empty(len(places))
        left, right = torch.empty(2, PAIRS, queries.shape[1])
        for first in range(0, len(places), PAIRS):
            of_queries, of_passages = (torch.from_numpy(each[first : first + PAIRS]) for each in (places, rows))
            size = len(of_queries)
            torch.index_select(queries, 0, of_queries, out=left[:size])
            torch.index_select(self.passages, 0, of_passages, out=right[:size])
            torch.sum(left[:size].mul_(right[:size]), dim=1, out=found[first : first + size])
        return found.numpy()


def _better(held: Keys, block: Block, queries: Tensor, first: int, k: int) -> Keys:
    """The best k of what was held, (q, n), and what a block has, whose first row is `first`: (q, k)."""
    full = held.shape[1] == block.wanted
    floor = finds_of(held[:, -1])[0] if full else np.full(len(queries), -np.inf)
    places, rows = block.ask(queries, floor.astype(np.float64))
    found = keys_of(block.scores(queries, places, rows), rows + first)
    counts = np.bincount(places, minlength=len(queries))
    table = np.full((len(queries), held.shape[1] + counts.max(initial=0)), NOTHING)
    table[:, : held.shape[1]] = held
    table[places, held.shape[1] + np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)] = found
    table.sort(axis=1)
    return table[:, :k]


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
