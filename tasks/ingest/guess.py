"""Guess which column of a user's pairs is which, for `remine init`; ingest itself never guesses."""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tasks.ingest.collection import WHOLE, id_of
from tasks.ingest.complaints import Complaints, CorpusError
from tasks.ingest.pairs import column_names, read_rows
from tasks.ingest.settings import SPLIT_NAMES, Columns

IDS = ("id", "_id", "index")  # texts or not, nobody asks for these
LOOKED_AT = 1000  # rows
DISTINCT = 0.3  # share of different values below which a column is a category, not a text

NAMES: dict[str, tuple[str, ...]] = {
    "query_id": ("query_id", "query-id", "queryid", "qid", "question_id"),
    "passage_id": ("passage_id", "passage-id", "corpus_id", "corpus-id", "doc_id", "docid", "document_id", "pid"),
    "split": ("split", "fold", "partition", "subset", "set"),
    "grade": ("grade", "relevance", "label", "score", "rating"),
    "title": ("title", "passage_title", "doc_title", "headline", "heading"),
    "query": (
        "query",
        "question",
        "anchor",
        "search",
        "request",
        "utterance",
        "instruction",
        "intent",
        "nl",
        "sentence1",
    ),
    "passage": (
        *("passage", "document", "doc", "text", "positive", "pos", "answer", "context", "content", "response"),
        *("body", "code", "snippet", "abstract", "sentence2"),
    ),
}


def sample_rows(path: Path) -> tuple[list[str], list[Mapping[str, Any]]]:
    """The columns of a pairs file and its first thousand rows; malformed lines are left to ingest."""
    rows = [row for _, row in islice(read_rows(path, None, Complaints()), LOOKED_AT)]
    names = column_names(path) or list(dict.fromkeys(name for row in rows for name in row))
    return names, rows


def guess_columns(place: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> tuple[Columns, list[str]]:
    """Guess the columns by their names, and query and passage otherwise by their contents.

    Args:
        place: The file, for the error.
        names: All columns.
        rows: Some rows.

    Returns:
        The columns, and a sentence for every guess that should be looked at.

    Raises:
        CorpusError: No two columns look like query and passage.
    """
    found: dict[str, str] = {}
    notes: list[str] = []
    for role, known in NAMES.items():
        name = next((name for want in known for name in names if name.lower() == want), None)
        if name is None or name in found.values():
            continue
        if _fits(role, name, rows):
            found[role] = name
        else:
            notes.append(f"column {name!r} sounds like the {role}, but its values are not: not used")
    for role in ("query", "passage"):
        if role not in found:
            both = role == "query" and "passage" not in found
            left = [name for name in names if name not in found.values() and name.lower() not in IDS]
            found[role] = _by_contents(role, place, left, rows, 2 if both else 1)
            notes.append(f"{role} = column {found[role]!r} by its contents, not by its name: please check")
    return Columns(**found), notes


def _fits(role: str, name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all values looked at can be what the role needs."""
    tests: dict[str, Callable[[Any], bool]] = {
        "grade": lambda value: _whole(value),
        "split": lambda value: isinstance(value, str) and value in SPLIT_NAMES,
        "query_id": lambda value: id_of(value) is not None,
        "passage_id": lambda value: id_of(value) is not None,
        "title": lambda value: value is None or isinstance(value, str),
    }
    test = tests.get(role, lambda value: isinstance(value, str))
    return all(test(row.get(name)) for row in rows)


def _whole(value: Any) -> bool:
    if isinstance(value, str):
        return WHOLE.fullmatch(value) is not None
    return isinstance(value, int) and not isinstance(value, bool)


def _by_contents(role: str, place: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]], needed: int) -> str:
    """The column of short texts for the query, of long ones for the passage; `needed` of them have to be there."""
    lengths: dict[str, float] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        texts = [value for value in values if isinstance(value, str)]
        if texts and len(texts) == len(values) and len(set(texts)) >= DISTINCT * len(texts):
            lengths[name] = sum(map(len, texts)) / len(texts)
    if len(lengths) < needed:
        todo = f"write a recipe that names it under [source.columns] as {role}"
        if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
            todo = "fields of a CSV are separated by commas, and this header has none"
        raise CorpusError(
            f"{place}: no column looks like the {role}; the columns left are {', '.join(map(repr, names)) or 'none'}; "
            + todo
        )
    return (min if role == "query" else max)(lengths, key=lambda name: lengths[name])
