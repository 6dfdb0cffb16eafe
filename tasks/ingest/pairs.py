"""Read (query, passage) pairs from JSON lines, CSV or Parquet, column by column name."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from tasks.ingest.beir import read_lines, read_objects
from tasks.ingest.collection import JUDGEMENTS, PASSAGES, QUERIES, Collection, grade_of, has_utf8, id_of
from tasks.ingest.complaints import Complaints, CorpusError
from tasks.ingest.settings import SPLIT_NAMES, SPLITS, Columns, ending, pair_files
from warehouse.texts import passage_text, text_hash

# A TSV has no quotes: a tab cannot be in a field.
DIALECTS: dict[str, dict[str, Any]] = {".csv": {"strict": True}, ".tsv": {"delimiter": "\t", "quoting": csv.QUOTE_NONE}}
LONGEST_FIELD = 1 << 27  # characters of one CSV field; Python stops at 131,072 unless told otherwise

Rows = Iterable[tuple[int, Mapping[str, Any]]]


def read_pairs(path: Path, columns: Columns) -> Collection:
    """Read one pairs file, or a folder of files named by their splits.

    Raises:
        FileNotFoundError: There is no such file.
        CorpusError: A named column is missing, or rows are malformed.
    """
    files = pair_files(path)
    if not files:
        raise FileNotFoundError(
            f"{path}: no pairs in this folder; needed files named train.jsonl, dev.csv and the like"
        )
    if columns.split and any(split for _, split in files):
        raise CorpusError(
            f"{path}: the files' names and the column {columns.split!r} both say the split; name only one"
        )
    complaints = Complaints()
    pairs = Pairs(columns, complaints)
    for file, split in files:
        names = column_names(file)
        if names is not None:
            require_columns(str(file), names, columns)
            pairs.note_unread(names)
        seen = pairs.add(str(file), split, read_rows(file, list(columns.named().values()), complaints))
        if names is None:
            require_columns(str(file), seen, columns)
            pairs.note_unread(seen)
    complaints.refuse()
    return pairs.collection()


def require_columns(place: str, names: list[str], columns: Columns) -> None:
    """Refuse a table without a column that the settings name."""
    for role, name in columns.named().items():
        if name not in names:
            raise CorpusError(
                f"{place}: no column {name!r} for the {role}; the columns are {', '.join(map(repr, names)) or 'none'}. "
                f"Name the right one with source.columns.{role}"
            )
        if names.count(name) > 1:
            raise CorpusError(f"{place}: {names.count(name)} columns are called {name!r}; which is the {role}?")


def column_names(path: Path) -> list[str] | None:
    """The columns of a CSV, TSV or Parquet file; None for JSON lines, where every line names its own."""
    if ending(path) == ".parquet":
        try:
            return list(pl.read_parquet_schema(path))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise CorpusError(f"{path}: not a Parquet file: {error}") from error
    if ending(path) in DIALECTS:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            return next(csv.reader(file, **DIALECTS[ending(path)]), [])
    return None


def read_rows(path: Path, names: list[str] | None, complaints: Complaints) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield numbered rows of a JSON-lines, CSV, TSV or Parquet file (numbers are lines; in Parquet, rows from 1).

    Args:
        path: The file.
        names: The columns to read from Parquet; None reads all.
        complaints: Where malformed lines are noted.
    """
    if ending(path) == ".jsonl":
        yield from read_objects(path, complaints)
    elif ending(path) in DIALECTS:
        yield from _csv_rows(path, complaints)
    elif ending(path) == ".parquet":
        yield from enumerate(pl.read_parquet(path, columns=names).iter_rows(named=True), 1)
    else:
        raise CorpusError(f"{path}: cannot be read as pairs; needed .jsonl, .csv, .tsv or .parquet")


def _csv_rows(path: Path, complaints: Complaints) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.reader((line for _, line in read_lines(path, complaints)), **DIALECTS[ending(path)])
    start = 1
    with _long_fields():
        try:
            header = next(reader, [])
            start = reader.line_num + 1
            for cells in reader:
                if len(cells) == len(header):
                    yield start, dict(zip(header, cells, strict=True))
                elif cells:
                    what = f"{len(cells)} fields under {len(header)} columns: {', '.join(cells)[:60]!r}"
                    complaints.add("malformed", f"{path}:{start}", what)
                start = reader.line_num + 1
        except csv.Error as error:
            complaints.add("malformed", f"{path}:{start}", f"not CSV: {error}; quotes in a field are doubled")


@contextmanager
def _long_fields() -> Iterator[None]:
    before = csv.field_size_limit(LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def made_id(letter: str, text: str) -> str:
    """Make an id from a text: a letter and the 16 hexadecimal digits of its hash."""
    return letter + text_hash(text).to_bytes(8, "little", signed=True).hex()


class Pairs:
    """Rows of pairs on their way to becoming a collection: equal ids are one passage or query."""

    def __init__(self, columns: Columns, complaints: Complaints) -> None:
        self.columns = columns
        self.complaints = complaints
        self.passages: dict[str, tuple[str, str, str, int]] = {}
        self.queries: dict[str, tuple[str, str, int]] = {}
        self.judgements: list[tuple[str, str, int, str, str, int]] = []
        self.unread: dict[str, None] = {}

    def note_unread(self, names: Iterable[str]) -> None:
        """Remember columns that nothing reads, for a note."""
        read = set(self.columns.named().values())
        self.unread.update((name, None) for name in names if name not in read)

    def add(self, file: str, split: str, rows: Rows) -> list[str]:
        """Add the rows of one file and return the columns that they had.

        Args:
            file: Its name, for messages.
            split: The split of all its rows; "" where a column says it, or nothing does.
            rows: Numbered rows.
        """
        seen: dict[str, None] = {}
        for line, row in rows:
            seen.update(dict.fromkeys(row))
            place = f"{file}:{line}"
            texts = self._texts(row, place)
            ids = self._ids(row, texts, place) if texts else None
            if texts is None or ids is None:
                continue
            self._keep(ids, texts, file, line)
            grade = grade_of(row.get(self.columns.grade), place, self.complaints) if self.columns.grade else 1
            self.judgements.append((*ids, grade, split or self._split(row, place), file, line))
        return list(seen)

    def collection(self) -> Collection:
        """What has been added."""
        passages = [(name, *rest) for name, rest in self.passages.items()]
        queries = [(name, *rest) for name, rest in self.queries.items()]
        return Collection(
            pl.DataFrame(passages, schema=PASSAGES, orient="row"),
            pl.DataFrame(queries, schema=QUERIES, orient="row"),
            pl.DataFrame(self.judgements, schema=JUDGEMENTS, orient="row"),
            own_query_ids=bool(self.columns.query_id),
            notes=(f"columns not read: {', '.join(self.unread)}",) if self.unread else (),
        )

    def _texts(self, row: Mapping[str, Any], place: str) -> tuple[str, str, str] | None:
        """Query, title and passage of a row; None after a complaint."""
        found = []
        for role in ("query", "title", "passage"):
            name: str = getattr(self.columns, role)
            value = (row.get(name) or "") if role == "title" else row.get(name)
            if not isinstance(value, str):
                self.complaints.add(
                    "malformed", place, f"needed a text for the {role} under {name!r}, got {value!r:.60}"
                )
                return None
            if not has_utf8(value):
                self.complaints.add("surrogate", place, f"the {role} holds half a surrogate pair: {value!r:.60}")
                return None
            found.append(value)
        return found[0], found[1], found[2]

    def _ids(self, row: Mapping[str, Any], texts: tuple[str, str, str], place: str) -> tuple[str, str] | None:
        """Query id and passage id, read or made from the texts; None after a complaint."""
        query, title, passage = texts
        made = {"query_id": made_id("q", query), "passage_id": made_id("p", passage_text(title, passage))}
        for role in made:
            name: str = getattr(self.columns, role)
            if not name:
                continue
            value = id_of(row.get(name))
            if value is None or not has_utf8(value):
                self.complaints.add("malformed", place, f"needed an id under {name!r}, got {row.get(name)!r:.60}")
                return None
            made[role] = value
        return made["query_id"], made["passage_id"]

    def _keep(self, ids: tuple[str, str], texts: tuple[str, str, str], file: str, line: int) -> None:
        query, title, passage = texts
        known_query = self.queries.setdefault(ids[0], (query, file, line))
        if known_query[0] != query:
            self._twice("query", ids[0], f"{file}:{line}", f"{known_query[1]}:{known_query[2]}")
        known = self.passages.setdefault(ids[1], (title, passage, file, line))
        if passage_text(*known[:2]) != passage_text(title, passage):
            self._twice("passage", ids[1], f"{file}:{line}", f"{known[2]}:{known[3]}")

    def _twice(self, role: str, name: str, place: str, first: str) -> None:
        self.complaints.add("duplicate", place, f"{role} id {name!r} has another text than at {first}")

    def _split(self, row: Mapping[str, Any], place: str) -> str:
        if not self.columns.split:
            return ""
        value = row.get(self.columns.split)
        if isinstance(value, str) and value in SPLIT_NAMES:
            return SPLIT_NAMES[value]
        self.complaints.add("split", place, f"the split is {value!r:.40}; needed one of {', '.join(SPLITS)}")
        return ""
