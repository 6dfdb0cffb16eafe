"""Which scripts texts are written in, by Unicode's script names."""

import polars as pl

SCRIPTS = (
    "Latin",
    "Han",
    "Hiragana",
    "Katakana",
    "Hangul",
    "Cyrillic",
    "Greek",
    "Arabic",
    "Hebrew",
    "Devanagari",
    "Bengali",
    "Tamil",
    "Thai",
    "Lao",
    "Khmer",
    "Myanmar",
)
WITHOUT_SPACES = frozenset({"Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"})

_UNSPACED = "".join(rf"\p{{{script}}}" for script in sorted(WITHOUT_SPACES))
_WORD = rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+"


def script_shares(texts: pl.Series) -> dict[str, float]:
    """Share of the letters in each script, largest first, from 0.0001 on; `other` is the letters of all the rest."""
    letters = _count(texts, r"\p{L}")
    counts = {script: _count(texts, rf"[\p{{{script}}}&&\p{{L}}]") for script in SCRIPTS}
    counts["other"] = letters - sum(counts.values())
    shares = {script: round(count / max(letters, 1), 4) for script, count in counts.items()}
    return {script: share for script, share in sorted(shares.items(), key=lambda item: -item[1]) if share > 0}


def word_counts(texts: pl.Series) -> pl.Series:
    """Words per text: runs without white space, and every character of a script that puts no spaces between words."""
    return texts.str.count_matches(_WORD)


def _count(texts: pl.Series, pattern: str) -> int:
    return int(texts.str.count_matches(pattern).sum())
