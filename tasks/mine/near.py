"""What nearly equals a positive: close in meaning and in words."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from tasks.mine.mapped import GATHERED, Scores, gather
from tasks.mine.settings import Mining

SLICE = 262_144  # rows of lists that are compared at once


@dataclass
class NearDuplicates:
    """Finds candidates that nearly equal a positive of their query.

    Two passages are near duplicates where the cosine of their vectors and the share of words they share (of the words
    of either) both reach their thresholds: the cosine alone takes a paraphrase for a copy, the words alone take
    "opens" and "closes" for one.

    Attributes:
        positives: `query_row, positive_row`.
        passages: Vectors, (P, d).
        texts: Texts of the passages.
        settings: The thresholds.
        words: Splits a text into words.
    """

    positives: pl.DataFrame
    passages: Scores
    texts: pl.Series
    settings: Mining
    words: Callable[[str], list[str]]
    _seen: dict[int, frozenset[str]] = field(default_factory=dict)

    def among(self, lists: pl.DataFrame) -> pl.DataFrame:
        """The rows of `query_row, passage_row, …` that are near duplicates: `query_row, passage_row`, each once."""
        found = [self._in_slice(lists.slice(first, SLICE)) for first in range(0, max(lists.height, 1), SLICE)]
        return pl.concat(found).unique(maintain_order=True)

    def _in_slice(self, lists: pl.DataFrame) -> pl.DataFrame:
        both = lists.select("query_row", "passage_row").join(self.positives, on="query_row")
        pairs = both.select("passage_row", "positive_row").unique(maintain_order=True)
        close = pairs.filter(pl.Series(self._cosines(pairs) >= self.settings.near_similarity, dtype=pl.Boolean))
        overlaps = [self._overlap(*pair) >= self.settings.near_overlap for pair in close.iter_rows()]
        same = close.filter(pl.Series(overlaps, dtype=pl.Boolean))
        return both.join(same, on=["passage_row", "positive_row"], how="semi").select("query_row", "passage_row")

    def _cosines(self, pairs: pl.DataFrame) -> Scores:
        left, right = (pairs[name].to_numpy() for name in ("passage_row", "positive_row"))
        order = np.argsort(left, kind="stable")  # in the file's order: in any other, every pair is a read of its own
        positives, place = np.unique(right, return_inverse=True)
        held = gather(self.passages, positives)
        found, lengths = np.empty(len(left), np.float32), np.empty(len(left), np.float32)
        for first in range(0, len(order), GATHERED):
            part = order[first : first + GATHERED]
            passages = gather(self.passages, left[part])
            found[part] = np.einsum("nd,nd->n", passages, held[place[part]])
            lengths[part] = np.sqrt(np.einsum("nd,nd->n", passages, passages))
        norms = lengths * np.linalg.norm(held, axis=1)[place]
        cosines: Scores = np.divide(found, norms, out=np.zeros_like(found), where=norms > 0)
        return cosines

    def _overlap(self, left: int, right: int) -> float:
        one, other = self._words(left), self._words(right)
        return len(one & other) / max(len(one | other), 1)

    def _words(self, row: int) -> frozenset[str]:
        if row not in self._seen:
            self._seen[row] = frozenset(self.words(self.texts[row]))
        return self._seen[row]
