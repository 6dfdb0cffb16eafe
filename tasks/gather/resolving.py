"""From rows to texts: what each row asks about, by its own text or by the text behind its id."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import polars as pl

from tasks.gather.settings import PairColumns
from tasks.gather.table import Table
from tasks.ingest.assemble import distinct
from tasks.ingest.complaints import Complaints, CorpusError
from tasks.ingest.pairs import made_id
from warehouse.texts import passage_text, text_hash

Role = Literal["query", "passage"]
Lookup = Callable[[Role, pl.Series], pl.DataFrame]
"""Finds the texts of ids: `external_id, text` of those that are known."""


@dataclass(frozen=True)
class Asked:
    """What a file asks about.

    Attributes:
        rows: query_id, passage_id, query_hash, passage_hash; in the order of the file.
        queries: hash, text; one row per distinct text.
        passages: hash, text; one row per distinct text.
    """

    rows: pl.DataFrame
    queries: pl.DataFrame
    passages: pl.DataFrame


def resolve(table: Table, columns: PairColumns, lookup: Lookup) -> Asked:
    """Find both texts of every row. A text in the file counts before the id beside it, which then is only a name.

    Args:
        table: The rows.
        columns: Which column is which.
        lookup: Finds the texts of ids where the file has none.

    Raises:
        CorpusError: A column is missing, a text is empty, or ids are unknown; each with its line.
    """
    complaints = Complaints()
    queries = _side(table, "query", columns, lookup, complaints)
    passages = _side(table, "passage", columns, lookup, complaints)
    complaints.refuse()
    rows = pl.DataFrame(
        {
            "query_id": queries["external_id"],
            "passage_id": passages["external_id"],
            "query_hash": queries["hash"],
            "passage_hash": passages["hash"],
        }
    )
    return Asked(rows, distinct(queries, "query"), distinct(passages, "passage"))


def _side(table: Table, role: Role, columns: PairColumns, lookup: Lookup, complaints: Complaints) -> pl.DataFrame:
    """`external_id, text, hash, file, line` of every row."""
    text, name = getattr(columns, role), getattr(columns, f"{role}_id")
    has = set(table.rows.columns)
    if not has & {text, name}:
        raise CorpusError(
            f"{table.file}: no column {text!r} with the {role}'s text, nor {name!r} with its id; the columns are "
            f"{', '.join(map(repr, table.rows.columns))}. Say which is which with --column {role}=NAME or "
            f"--column {role}_id=NAME"
        )
    ids = _ids(table, name, complaints) if name in has else None
    if text not in has and ids is not None:
        return _numbered(table, ids, _looked_up(table, role, ids, lookup, complaints))
    texts = _texts(table, text, columns.title if role == "passage" and columns.title in has else "", complaints)
    made = ids if ids is not None else pl.Series([made_id(role[0], text) for text in texts], dtype=pl.String)
    return _numbered(table, made, texts)


def _texts(table: Table, name: str, title: str, complaints: Complaints) -> pl.Series:
    """A column of texts behind their titles, where a column is named; one that is empty all in all is a complaint."""
    texts = _strings(table, name).fill_null("")
    if title:
        texts = pl.Series(map(passage_text, _strings(table, title).fill_null(""), texts), dtype=pl.String)
    for row in (texts.str.strip_chars() == "").arg_true():
        complaints.add("malformed", table.place(row), f"needed a text under {name!r}, got {table.rows[name][row]!r}")
    return texts


def _ids(table: Table, name: str, complaints: Complaints) -> pl.Series:
    """A column of ids: texts or whole numbers; nothing is a complaint."""
    column = table.rows[name]
    ids = column.cast(pl.String) if column.dtype.is_integer() else _strings(table, name)
    for row in (ids.fill_null("") == "").arg_true():
        complaints.add("malformed", table.place(row), f"needed an id under {name!r}, got {column[row]!r}")
    return ids.fill_null("")


def _strings(table: Table, name: str) -> pl.Series:
    column = table.rows[name]
    if name in table.mixed:
        odd = json.loads(column[table.mixed[name]])
        raise CorpusError(
            f"{table.place(table.mixed[name])}: needed a text under {name!r}, got {odd!r:.60}; written as JSON, it and "
            "all texts beside it would be scored with their quotes and braces"
        )
    if column.dtype not in (pl.String, pl.Null, pl.Categorical, pl.Enum):
        raise CorpusError(f"{table.file}: the column {name!r} holds {column.dtype} values; needed texts")
    return column.cast(pl.String)


def _looked_up(table: Table, role: Role, ids: pl.Series, lookup: Lookup, complaints: Complaints) -> pl.Series:
    """The text behind every id; each unknown id is one complaint, at its first line."""
    asked = pl.DataFrame({"external_id": ids}).with_row_index("row")
    found = asked.join(lookup(role, ids.unique().sort()), on="external_id", how="left", maintain_order="left")
    unknown = found.filter(pl.col("text").is_null() & (pl.col("external_id") != ""))
    for row, external_id in (
        unknown.unique("external_id", keep="first", maintain_order=True).select("row", "external_id").iter_rows()
    ):
        complaints.add("unknown", table.place(row), f"{role} {external_id!r} is not in the corpus")
    return found["text"].fill_null("")


def _numbered(table: Table, ids: pl.Series, texts: pl.Series) -> pl.DataFrame:
    hashes = {text: text_hash(text) for text in texts.unique()}
    return pl.DataFrame(
        {
            "external_id": ids,
            "text": texts,
            "hash": pl.Series([hashes[text] for text in texts], dtype=pl.Int64),
            "line": pl.Series(table.lines, dtype=pl.Int64),
        }
    ).with_columns(file=pl.lit(table.file))
