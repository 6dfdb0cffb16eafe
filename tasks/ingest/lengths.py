"""How long texts are, in characters and in words."""

from dataclasses import dataclass

import polars as pl

from tasks.ingest.scripts import word_counts

QUANTILES = (0.05, 0.5, 0.95, 1.0)
LONG = 256  # words; small students read 256 tokens by default


@dataclass(frozen=True)
class Lengths:
    """5 %, median, 95 % and longest."""

    characters: tuple[int, ...]
    words: tuple[int, ...]


def lengths_of(texts: pl.Series) -> Lengths:
    """Measure texts; in scripts without spaces every character counts as a word."""
    return Lengths(_quantiles(texts.str.len_chars()), _quantiles(word_counts(texts)))


def long_passages(texts: pl.Series) -> tuple[int, int]:
    """The number of words that counts as long, and how many texts have more."""
    return LONG, int((word_counts(texts) > LONG).sum())


def _quantiles(values: pl.Series) -> tuple[int, ...]:
    """Values at the quantiles; each is the length of a text that exists."""
    found = [values.quantile(share, interpolation="nearest") for share in QUANTILES]
    return tuple(int(value or 0) for value in found)
