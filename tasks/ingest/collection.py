"""What a source holds, as it was read, before anything is checked against anything else."""

import re
from dataclasses import dataclass
from typing import Any

import polars as pl

from tasks.ingest.complaints import Complaints

PASSAGES = {"external_id": pl.String, "title": pl.String, "text": pl.String, "file": pl.String, "line": pl.Int64}
QUERIES = {"external_id": pl.String, "text": pl.String, "file": pl.String, "line": pl.Int64}
JUDGEMENTS = {
    "query_id": pl.String,
    "passage_id": pl.String,
    "grade": pl.Int32,
    "split": pl.String,
    "file": pl.String,
    "line": pl.Int64,
}
WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
LARGEST = 10**9  # a grade is stored in 32 bits
PLACE = pl.format("{}:{}", "file", "line").alias("place")


@dataclass(frozen=True)
class Collection:
    """Passages, queries and judgements with the file and line that each came from.

    Attributes:
        passages: external_id, title, text, file, line.
        queries: external_id, text, file, line.
        judgements: query_id, passage_id, grade, split ("" where the source does not say), file, line.
        own_query_ids: The query ids are the user's; otherwise they are made from the texts.
        notes: What the user should know about the reading.
    """

    passages: pl.DataFrame
    queries: pl.DataFrame
    judgements: pl.DataFrame
    own_query_ids: bool
    notes: tuple[str, ...] = ()


def has_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8; lone surrogates, which JSON can spell, cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def id_of(value: Any) -> str | None:
    """An id as text; None where the value is neither a text nor a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def grade_of(value: Any, place: str, complaints: Complaints) -> int:
    """Read a whole-number grade of at most nine digits, or complain and return 0."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST:
        return value
    if isinstance(value, str) and WHOLE.fullmatch(value):
        return int(value)
    complaints.add(
        "grade", place, f"the grade is {value!r}; needed a whole number, such as 0 or 1, of at most nine digits"
    )
    return 0
