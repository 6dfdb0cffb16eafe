"""BM25 over words, and over character bigrams where a script writes no spaces."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
import polars as pl

from tasks.documents import Documents
from tasks.progress import Tick

WHOLE = Documents(None)
K1, B = 1.5, 0.75

# Thai and Lao, Myanmar, Khmer, Hiragana and Katakana, Bopomofo, Han.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)


def tokenize(text: str) -> list[str]:
    """Split a text into lower-cased words; runs of a script without spaces become overlapping character bigrams.

    A word is a run of letters, digits and their marks, so `parse_json` is two words; letters and digits beside
    an unspaced run stay words of their own. An unspaced run of one character is that character.
    """
    tokens: list[str] = []
    for found in _pattern().finditer(unicodedata.normalize("NFKC", text).lower()):
        run = found.group()
        if found.lastgroup == "unspaced" and len(run) > 1:
            tokens.extend(run[start : start + 2] for start in range(len(run) - 1))
        else:
            tokens.append(run)
    return tokens


class Bm25:
    """An index of passages' words."""

    def __init__(self, texts: pl.Series) -> None:
        import bm25s

        corpus = [tokenize(text) for text in texts]
        self.known = any(corpus)
        self.index = bm25s.BM25(k1=K1, b=B)
        if self.known:
            self.index.index(corpus, show_progress=False)

    def search(self, text: str, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and scores of the passages that share a word with the query, best first, at most `depth`."""
        tokens = self.index.get_tokens_ids(tokenize(text)) if self.known else []
        return best(self.index.get_scores_from_ids(tokens), depth) if tokens else best(np.empty(0), depth)


def search_bm25(
    passages: pl.DataFrame, queries: pl.DataFrame, depth: int, tick: Tick, documents: Documents = WHOLE
) -> pl.DataFrame:
    """Rank passages for each query; a passage that shares no word with the query is not a hit.

    Equal scores are ordered by passage row, so the same corpus gives the same ranking.

    Args:
        passages: `hash, text`.
        queries: `hash, text`.
        depth: Most hits per query.
        tick: Called with 1 after each query.
        documents: Of a cut corpus: each is ranked by its best passage.

    Returns:
        `query_hash, passage_hash, rank, score`, in query order, then by rank.
    """
    index, hashes = Bm25(passages["text"]), passages["hash"].to_numpy()
    texts, found = dict(queries.select("hash", "text").iter_rows()), []

    def ask(asked: list[int], k: int) -> pl.DataFrame:
        rows, scores = index.search(texts[asked[0]], k)
        return _hits(asked[0], hashes[rows], scores)

    for query_hash in queries["hash"]:
        found.append(documents.retrieve(ask, [query_hash], depth))
        tick(1)
    return pl.concat([_hits(0, hashes[:0], np.empty(0)), *found])


def best(scores: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and values of the highest scores above zero, at most `depth`; of equal ones the lower row comes first."""
    rows = np.flatnonzero(scores > 0)
    if rows.size > depth:
        bar = np.partition(scores[rows], rows.size - depth)[rows.size - depth]
        rows = rows[scores[rows] >= bar]
    rows = rows[np.argsort(-scores[rows], kind="stable")][:depth]
    return rows, scores[rows]


def _hits(query_hash: int, passages: np.ndarray, scores: Sequence[float] | np.ndarray) -> pl.DataFrame:
    count = len(passages)
    return pl.DataFrame(
        {
            "query_hash": pl.Series([query_hash] * count, dtype=pl.Int64),
            "passage_hash": pl.Series(passages, dtype=pl.Int64),
            "rank": pl.Series(range(1, count + 1), dtype=pl.Int32),
            "score": pl.Series(scores, dtype=pl.Float32),
        }
    )


@cache
def _pattern() -> re.Pattern[str]:
    # Python's \w has no combining marks: without them, Hindi and Arabic words would break at every vowel sign.
    marks = "".join(chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    return re.compile(rf"(?P<unspaced>[{UNSPACED}]+)|(?:(?![{UNSPACED}])(?:[^\W_]|[{marks}]))+")
