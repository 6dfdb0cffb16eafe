"""Make training queries out of bare passages: what comes before and after in a text belongs together.

The passage that a made query is answered by is what is left of its text: with the query's own words still in it, a
student would learn to find copies. It is one more part of the document, which stays whole beside it.
"""

import re

import polars as pl

from tasks.ingest.chunks import TOKEN
from tasks.ingest.complaints import CorpusError
from tasks.ingest.pairs import made_id
from tasks.ingest.settings import Made

SHORTEST = 8  # tokens of a text that is cut in two
LONGEST = 64  # tokens of the half that asks: nobody's query is longer, and a teacher reads it whole beside a passage
NEEDED = {"cloze": f"{SHORTEST} words to cut in two", "title": "a title and a text beside it"}
END = re.compile(r"[.!?]\s+|[。！？]")


def make_pairs(parts: pl.DataFrame, kind: Made) -> pl.DataFrame:
    """Make a query and its answer out of every part that has both.

    Args:
        parts: `external_id, title, text, document, document_hash, …`; text without the title.
        kind: cloze: a text cut in two where a sentence ends, nearest to the middle; the shorter piece, of 64 words at
            most, asks for the other (inverse cloze task, Lee et al. 2019, arXiv 1906.00300). title: a title asks for
            its text.

    Returns:
        `query_id, query`, and of the answer `external_id, title, text, document, document_hash, file, line`.

    Raises:
        CorpusError: No part has both.
    """
    rows = []
    wanted = ("external_id", "title", "text", "document", "document_hash", "file", "line")
    for name, title, text, document, document_hash, file, line in parts.select(wanted).iter_rows():
        pair = halves(text) if kind == "cloze" else (title, text)
        if pair is not None and all(half.strip() for half in pair):
            query, rest = pair
            own = (made_id("q", query), query, f"{name}#{kind}", "", rest)
            rows.append((*own, document, document_hash, file, line))
    if not rows:
        raise CorpusError(
            f"source.pairs = {kind!r} makes no pair: none of {parts.height:,} texts has {NEEDED[kind]}; "
            "there would be no query to learn from"
        )
    schema = dict.fromkeys(("query_id", "query", "external_id", "title", "text"), pl.String)
    of_document = {"document": pl.String, "document_hash": pl.Int64, "file": pl.String, "line": pl.Int64}
    return pl.DataFrame(rows, schema={**schema, **of_document}, orient="row")


def with_made(queries: pl.DataFrame, made: pl.DataFrame) -> pl.DataFrame:
    """Add made queries to those there are; the same words asked twice are one query."""
    new = made.select("query_id", "query", "file", "line").unique("query_id", keep="first", maintain_order=True)
    new = new.rename({"query_id": "external_id", "query": "text"}).join(queries, on="external_id", how="anti")
    return pl.concat([queries, new.select(queries.columns)])


def made_judgements(made: pl.DataFrame, kind: str) -> pl.DataFrame:
    """A train judgement for every made pair: `query_id, passage_id, grade, split, source`."""
    return made.select(
        "query_id",
        passage_id="document",
        grade=pl.lit(1, pl.Int32),
        split=pl.lit("train"),
        source=pl.lit(kind),
    )


def halves(text: str) -> tuple[str, str] | None:
    """Cut a text in two at the end of a sentence, or else of a word: the shorter half first; None: it is too short.

    Either half has some tokens: "St." is the end of no sentence, and asks for nothing. The shorter one has LONGEST at
    most.
    """
    tokens = [found.end() for found in TOKEN.finditer(text)]
    if len(tokens) < SHORTEST:
        return None
    least = SHORTEST // 2
    earliest, latest = tokens[least - 1], tokens[-least - 1]  # where the first half may end
    short = tokens[min(LONGEST, len(tokens)) - 1], tokens[max(0, len(tokens) - LONGEST - 1)]  # or before, or after
    middle = len(text) / 2

    def fits(end: int) -> bool:
        return earliest <= end <= latest and (end <= short[0] or end >= short[1])

    ends = [found.end() for found in END.finditer(text) if fits(found.start() + 1)] or list(filter(fits, tokens))
    at = min(ends, key=lambda end: abs(end - middle))
    first, second = text[:at].strip(), text[at:].strip()
    before = sum(end <= at for end in tokens)
    asks = len(first) <= len(second)
    if (before if asks else len(tokens) - before) > LONGEST:
        asks = not asks
    return (first, second) if asks else (second, first)
