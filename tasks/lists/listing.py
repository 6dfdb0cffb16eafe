"""A query's list as every format needs it."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Passage:
    """A passage of a list: its id, its text as the models see it, and its score on the logit scale."""

    id: str
    text: str
    logit: float


@dataclass(frozen=True)
class Listing:
    """One query's list.

    Attributes:
        id: Id of the query.
        query: Its text.
        positives: Labelled, reviewed or promoted.
        negatives: What training may push away, by the student's rank.
        others: Scored, and neither: approved and ambiguous candidates, and what training does not read.
    """

    id: str
    query: str
    positives: tuple[Passage, ...]
    negatives: tuple[Passage, ...]
    others: tuple[Passage, ...]


def listings(rows: pl.DataFrame, with_approved: bool) -> list[Listing]:
    """Put a round's pairs together, query by query.

    Args:
        rows: query_id, query, passage_id, passage, logit, verdict, listed; a logit for each.
        with_approved: Candidates that the teacher approves of are among the negatives, where training reads them.
    """
    # An approved candidate among the negatives is pushed away by every contrastive term.
    pushed = ("negative", "approved") if with_approved else ("negative",)
    return [_listing(group, pushed) for group in _groups(rows)]


def _groups(rows: pl.DataFrame) -> Iterator[list[dict[str, object]]]:
    group: list[dict[str, object]] = []
    for row in rows.iter_rows(named=True):
        if group and group[0]["query_id"] != row["query_id"]:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _listing(group: list[dict[str, object]], pushed: tuple[str, ...]) -> Listing:
    parts: dict[str, list[Passage]] = {"positives": [], "negatives": [], "others": []}
    for row in group:
        kind = "others"
        if row["listed"] and row["verdict"] in ("positive", "promoted"):
            kind = "positives"
        elif row["listed"] and row["verdict"] in pushed:
            kind = "negatives"
        parts[kind].append(Passage(str(row["passage_id"]), str(row["passage"]), float(str(row["logit"]))))
    found = {name: tuple(passages) for name, passages in parts.items()}
    return Listing(id=str(group[0]["query_id"]), query=str(group[0]["query"]), **found)
