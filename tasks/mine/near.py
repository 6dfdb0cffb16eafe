"""What nearly equals a positive: the same words, or close in meaning and in words."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
import torch

from tasks.mine.mapped import GATHERED, Rows, Scores, gather_distinct
from tasks.mine.settings import Mining

SLICE = 262_144  # rows of lists that are compared at once


@dataclass
class NearDuplicates:
    """Finds candidates that nearly equal a positive of their query.

    Two passages are near duplicates where the cosine of their vectors and the share of words they share (of the words
    of either) both reach their thresholds: the cosine alone takes a paraphrase for a copy, the words alone take
    "opens" and "closes" for one. The same words in the same order need no cosine: quotes around a text, or its last
    full stop, move the vectors of an untrained student further apart than some other texts are.

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
        left, right = (self._spoken.gather(pairs[name]) for name in ("passage_row", "positive_row"))
        close = pairs.filter(pl.Series(self._cosines(pairs) >= self.settings.near_similarity, dtype=pl.Boolean))
        overlaps = [self._overlap(*pair) >= self.settings.near_overlap for pair in close.iter_rows()]
        same = pl.concat([pairs.filter(left == right), close.filter(pl.Series(overlaps, dtype=pl.Boolean))])
        return both.join(same, on=["passage_row", "positive_row"], how="semi").select("query_row", "passage_row")

    @cached_property
    def _spoken(self) -> pl.Series:
        """Every passage without capitals, quotes and stops; null where nothing is left.

        Other signs stay: commands and formulas that differ by one say different things.
        """
        plain = self.texts.str.normalize("NFKC").str.to_lowercase().str.replace_all("['’]", "")
        spoken = plain.str.replace_all(r"[.,;:!?\"“”„«»‘…\s]+", " ").str.strip_chars()
        return spoken.set(spoken == "", None)

    def _cosines(self, pairs: pl.DataFrame) -> Scores:
        left, right = (pairs[name].to_numpy() for name in ("passage_row", "positive_row"))
        order = np.argsort(left, kind="stable")  # in the file's order: in any other, every pair is a read of its own
        positives, of_positive = unit(*gather_distinct(self.passages, right))
        found = np.empty(len(left), np.float32)
        for first in range(0, len(order), GATHERED):
            part = order[first : first + GATHERED]
            passages, of_passage = unit(*gather_distinct(self.passages, left[part]))
            both = passages.index_select(0, of_passage).mul_(positives.index_select(0, of_positive[part]))
            found[part] = both.sum(1).numpy()
        return found

    def _overlap(self, left: int, right: int) -> float:
        one, other = self._words(left), self._words(right)
        return len(one & other) / max(len(one | other), 1)

    def _words(self, row: int) -> frozenset[str]:
        if row not in self._seen:
            self._seen[row] = frozenset(self.words(self.texts[row]))
        return self._seen[row]


def unit(vectors: Scores, place: Rows) -> tuple[torch.Tensor, torch.Tensor]:
    """Vectors of length one (those of zeros stay), and the places of rows among them."""
    return torch.nn.functional.normalize(torch.from_numpy(vectors)), torch.from_numpy(place)
