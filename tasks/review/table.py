"""The spreadsheet that people fill: nothing in it runs as a formula, and no spreadsheet alters its pairs' names."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from tasks.ingest.collection import WHOLE
from tasks.replacing import write_whole

TEXTS = ("relevant", "query", "passage")
VERDICTS = ("rank", "probability", "verdict", "reason")
NAMES = ("query_id", "passage_id", "corpus", "pair")
SHOWN_BESIDE = ("query", "passage", "query_id", "passage_id")
# What spreadsheets take for the start of a formula, full-width forms included, and our own mark.
RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")
PAIR = re.compile(r"q([0-9a-f]{16})-p([0-9a-f]{16})")
YES, NO, WITHDRAW = ("yes", "y", "true"), ("no", "n", "false"), "withdraw"
SHOWN = 5
LONGEST_CELL = 32_000  # characters; spreadsheets stop at 32,767

ANSWERS = {
    "row": pl.Int64,
    "corpus": pl.String,
    "query_hash": pl.Int64,
    "passage_hash": pl.Int64,
    "query_id": pl.String,
    "passage_id": pl.String,
    "grade": pl.Int32,
    **{f"shown_{name}": pl.String for name in SHOWN_BESIDE},
}


def write_table(path: Path, queue: pl.DataFrame, with_verdicts: bool = False) -> None:
    """Write candidates as CSV, UTF-8 with a mark that spreadsheets know it by, and an empty column `relevant`.

    Args:
        path: The file.
        queue: corpus, query_hash, passage_hash, query_id, passage_id, query, passage, rank, probability,
            verdict, reason.
        with_verdicts: Rank, probability, verdict and reason are written too.
    """
    names = (*TEXTS, *(VERDICTS if with_verdicts else ()), *NAMES)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(names)
    for row in queue.iter_rows(named=True):
        probability = "" if row["probability"] is None else f"{row['probability']:.3f}"
        shown = {**row, "relevant": "", "probability": probability, "pair": pair_name(row)}
        writer.writerow([harmless(str(shown[name])) for name in names])
    write_whole(path, text.getvalue().encode("utf-8-sig"))


def pair_name(row: dict[str, int]) -> str:
    """Name a pair by the hashes of its texts: letters first, so that no spreadsheet makes it a number or a date."""
    query, passage = (row[name].to_bytes(8, "big", signed=True).hex() for name in ("query_hash", "passage_hash"))
    return f"q{query}-p{passage}"


def harmless(cell: str) -> str:
    """Put an apostrophe before a cell that a spreadsheet would run; cut what is longer than a spreadsheet's cell."""
    cell = cell if len(cell) <= LONGEST_CELL else cell[:LONGEST_CELL] + " …"
    return f"'{cell}" if cell.lstrip(" ").startswith(RISKY) else cell


def restored(cell: str) -> str:
    """Take the apostrophe of `harmless` away."""
    return cell[1:] if cell.startswith("'") and cell[1:].lstrip(" ").startswith(RISKY) else cell


def read_table(path: Path, corpus: str) -> pl.DataFrame:
    """Read the filled rows of a table.

    Needed are the column `relevant`, and `pair` or both `query_id` and `passage_id`. An empty cell is no answer.

    Args:
        path: CSV with commas, semicolons or tabs, UTF-8.
        corpus: The corpus of rows that name none.

    Returns:
        row (as a spreadsheet counts, from 2), corpus, query_hash, passage_hash, query_id, passage_id, grade; hashes or
        ids are null; a null grade withdraws. shown_query, shown_passage, shown_query_id and shown_passage_id are what
        stands beside a pair; null where there is no such column.

    Raises:
        ValueError: The file is no such table, or rows cannot be read; the message names them.
    """
    rows = _rows(path)
    header = [name.strip().lower() for name in next(iter(rows), [])]
    _check_header(path, header)
    answers, faults = [], []
    for number, cells in enumerate(rows[1:], 2):
        row = dict.fromkeys(header, "") | dict(zip(header, map(restored, cells), strict=False))
        if not row.get("relevant", "").strip():
            continue
        try:
            named = (number, row.get("corpus", "").strip() or corpus, *_named(row), grade_of(row["relevant"]))
            answers.append((*named, *(row.get(name) if "pair" in row else None for name in SHOWN_BESIDE)))
        except ValueError as error:
            faults.append(f"row {number}: {error}")
    if faults:
        more = f"\n  and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        shown = "".join(f"\n  {fault}" for fault in faults[:SHOWN])
        raise ValueError(f"{path}: {len(faults)} rows cannot be read; nothing was imported:{shown}{more}")
    return pl.DataFrame(answers, schema=ANSWERS, orient="row")


def grade_of(answer: str) -> int | None:
    """Read an answer: a grade, or None for `withdraw`.

    Raises:
        ValueError: It is neither.
    """
    word = answer.strip().lower()
    if word == WITHDRAW:
        return None
    if word in YES or word in NO:
        return int(word in YES)
    if WHOLE.fullmatch(word) and int(word) >= 0:
        return int(word)
    raise ValueError(f"relevant is {answer!r:.40}; needed yes, no, a whole-number grade from 0, or withdraw")


def _named(row: dict[str, str]) -> tuple[int | None, int | None, str | None, str | None]:
    """The pair by its hashes, or by its ids where there is no column `pair`."""
    if "pair" not in row:
        query, passage = row["query_id"], row["passage_id"]
        if not query or not passage:
            raise ValueError(f"query_id is {query!r} and passage_id {passage!r}; needed both")
        return None, None, query, passage
    found = PAIR.fullmatch(row["pair"].strip())
    if found is None:
        raise ValueError(
            f"pair is {row['pair']!r:.50}; needed what the export wrote there, q and p with 16 digits each"
        )
    query_hash, passage_hash = (int.from_bytes(bytes.fromhex(part), "big", signed=True) for part in found.groups())
    return query_hash, passage_hash, None, None


def _check_header(path: Path, header: Sequence[str]) -> None:
    if "relevant" not in header or not ("pair" in header or {"query_id", "passage_id"} <= set(header)):
        raise ValueError(
            f"{path}: the columns are {', '.join(map(repr, header)) or 'none'}; needed relevant, and pair or query_id "
            "and passage_id, as `remine review export` writes them"
        )
    for name in ("relevant", "pair", "corpus", *SHOWN_BESIDE):
        if header.count(name) > 1:
            raise ValueError(f"{path}: {header.count(name)} columns are called {name!r}; which one counts?")


def _rows(path: Path) -> list[list[str]]:
    """All rows of a CSV; spreadsheets of some languages put semicolons between cells."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; needed one CSV file, as `remine review export` writes it")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; `remine review export` writes one")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: not UTF-8 ({error.reason} at byte {error.start}); save it as “CSV UTF-8” in the spreadsheet"
        ) from error
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    before = csv.field_size_limit(1 << 27)
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ValueError(f"{path}: not CSV: {error}; quotes in a cell are doubled") from error
    finally:
        csv.field_size_limit(before)
