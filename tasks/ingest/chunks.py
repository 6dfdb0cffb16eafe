"""Cut long documents into passages that know which document they are of."""

import math
import re
from collections import Counter
from collections.abc import Sequence

import polars as pl

from tasks.baseline.bm25 import UNSPACED, tokenize
from tasks.ingest.complaints import CorpusError
from tasks.ingest.settings import Chunk

TOKEN = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])\w)+|[^\w\s]")


def cut(text: str, chunk: Chunk) -> list[str]:
    """Cut a text into windows of tokens, each a piece of it as it stands; the last one ends where the text ends.

    A token is a word, a punctuation mark, or a character of a script without spaces.
    """
    spans = [found.span() for found in TOKEN.finditer(text)]
    if len(spans) <= chunk.tokens:
        return [text]
    step = chunk.tokens - chunk.overlap
    starts = range(0, len(spans) - chunk.overlap, step)
    return [text[spans[start][0] : spans[min(start + chunk.tokens, len(spans)) - 1][1]] for start in starts]


def cut_passages(documents: pl.DataFrame, chunk: Chunk | None) -> pl.DataFrame:
    """Cut documents; one that is cut becomes passages with ids of their own, ID#1, ID#2 and so on.

    Args:
        documents: `external_id, title, text, hash, …`; text without the title.
        chunk: How long; None: every document is one passage.

    Returns:
        `external_id, title, text, document, document_hash, position, …`, in the order of the documents; positions from
        1.

    Raises:
        CorpusError: A document has the id that a part of another one would get.
    """
    pieces = [cut(text, chunk) if chunk else [text] for text in documents["text"]]
    parts = documents.rename({"external_id": "document", "hash": "document_hash"}).with_columns(
        text=pl.Series(pieces, dtype=pl.List(pl.String))
    )
    parts = parts.with_columns(pl.int_ranges(1, pl.col("text").list.len() + 1, dtype=pl.Int32).alias("position"))
    found = parts.with_columns(cut=pl.col("text").list.len() > 1).explode("text", "position")
    own = pl.when("cut").then(pl.format("{}#{}", "document", "position")).otherwise("document")
    found = found.with_columns(external_id=own).drop("cut")
    twice = found.filter(pl.col("external_id").is_duplicated())
    if twice.height:
        raise CorpusError(
            f"document id {twice['external_id'][0]!r} is also what a part of {twice['document'].unique().sort()[0]!r} "
            "would be called; one of the two would be lost. Rename the document"
        )
    return found


def learnt_from(labels: pl.DataFrame, queries: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Name the passage of each labelled document that shares most with its query: rare words count more.

    A label says that a document is right, not which part of it; a student that learns from every part learns from
    parts that say nothing of the question. Of equal ones the first counts.

    Args:
        labels: `query_hash, passage_hash, …`; passage_hash is the document's.
        queries: `hash, text`.
        parts: `document_hash, passage_hash, text, position`.

    Returns:
        The labels, with passage_hash the passage's; where two documents share it, the higher grade counts.
    """
    several = parts.filter(pl.len().over("document_hash") > 1)
    words = {name: frozenset(tokenize(text)) for name, text in several.select("passage_hash", "text").iter_rows()}
    counts = Counter(word for each in words.values() for word in each)
    weight = {word: math.log(1 + len(words) / count) for word, count in counts.items()}
    asked = dict(queries.select("hash", "text").iter_rows())
    ordered = parts.sort("position", maintain_order=True).group_by("document_hash", maintain_order=True)
    inside: dict[int, Sequence[int]] = dict(ordered.agg("passage_hash").iter_rows())
    found = []
    for query, document in labels.select("query_hash", "passage_hash").iter_rows():
        best = inside[document][0]
        if len(inside[document]) > 1:
            of_query = sorted(set(tokenize(asked[query])))
            shared = [sum(weight[word] for word in of_query if word in words[each]) for each in inside[document]]
            best = inside[document][shared.index(max(shared))]
        found.append(best)
    named = labels.with_columns(passage_hash=pl.Series(found, dtype=pl.Int64)).sort("grade", descending=True)
    return named.unique(["query_hash", "passage_hash"], keep="first").sort("query_hash", "passage_hash")
