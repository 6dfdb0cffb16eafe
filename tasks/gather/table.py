"""A file of pairs as rows and columns, each row with its line."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from tasks.ingest.beir import read_lines
from tasks.ingest.collection import has_utf8
from tasks.ingest.complaints import Complaints, CorpusError
from tasks.ingest.pairs import column_names, read_rows
from tasks.ingest.settings import ending

TREC = ("query_id", "Q0", "passage_id", "rank", "score", "tag")
LARGEST = 2**63
PLAIN: tuple[set[type], ...] = ({str, int}, {bool}, {int, float})


@dataclass(frozen=True)
class Table:
    """Rows as they came.

    Attributes:
        file: Its name, for messages.
        lines: Line of each row in the file (in Parquet the row's number, from 1), (N,).
        rows: The columns, N rows.
        mixed: Columns that had to be written as JSON, each with the row, from 0, of a value that is neither a text nor
            a whole number: nothing to read texts or ids from.
    """

    file: str
    lines: list[int]
    rows: pl.DataFrame
    mixed: Mapping[str, int] = field(default_factory=dict)

    def place(self, row: int) -> str:
        """File and line of a row, counted from 0."""
        return f"{self.file}:{self.lines[row]}"


def read_table(path: Path) -> Table:
    """Read JSON lines, CSV, TSV, Parquet or a TREC run.

    A column of a JSON-lines file keeps texts, numbers or truth values; whole numbers among texts become texts, and
    a column of anything else becomes JSON.

    Raises:
        CorpusError: Lines are malformed, two columns have one name, or there is no row.
    """
    names = column_names(path)
    if names is not None and len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise CorpusError(f"{path}: several columns are called {', '.join(map(repr, twice))}; which of them counts?")
    if ending(path) == ".parquet":
        table = Table(str(path), [], pl.read_parquet(path))
        table.lines.extend(range(1, table.rows.height + 1))
    else:
        table = _from_rows(path)
    if not table.lines:
        raise CorpusError(f"{path}: there are no pairs in it")
    return table


def _from_rows(path: Path) -> Table:
    complaints = Complaints()
    lines, rows = [], []
    for line, row in (
        _trec_rows(path, complaints) if ending(path) in (".trec", ".run") else read_rows(path, None, complaints)
    ):
        if ending(path) == ".jsonl" and not has_utf8(json.dumps(row, ensure_ascii=False)):
            complaints.add("surrogate", f"{path}:{line}", f"half a surrogate pair in {str(row)!r:.60}")
            continue
        lines.append(line)
        rows.append(row)
    complaints.refuse()
    columns = {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}
    mixed = {name: _odd(values) for name, values in columns.items() if not _is_plain(values)}
    return Table(str(path), lines, pl.DataFrame([_column(name, values) for name, values in columns.items()]), mixed)


def _is_plain(values: list[Any]) -> bool:
    kinds = {type(value) for value in values if value is not None}
    return any(kinds <= plain for plain in PLAIN)


def _odd(values: list[Any]) -> int:
    return next(row for row, value in enumerate(values) if value is not None and type(value) not in (str, int))


def _trec_rows(path: Path, complaints: Complaints) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in read_lines(path, complaints):
        cells = line.split()
        if len(cells) == len(TREC):
            yield number, dict(zip(TREC, cells, strict=True))
        elif cells:
            what = f"needed {' '.join(TREC)} between blanks, got {line.strip()[:60]!r}"
            complaints.add("malformed", f"{path}:{number}", what)


def _column(name: str, values: list[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {str}:
        return pl.Series(name, values, dtype=pl.String)
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds == {int} and all(value is None or -LARGEST <= value < LARGEST for value in values):
        return pl.Series(name, values, dtype=pl.Int64)
    if float in kinds and kinds <= {int, float}:
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    write = str if kinds <= {int, str} else json.dumps
    return pl.Series(name, [None if value is None else write(value) for value in values], dtype=pl.String)
