"""Writing a round's lists for another trainer."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from tasks.lists.formats import FIXED, SUFFIXES, WRITERS
from tasks.lists.listing import Listing, listings
from tasks.record import warehouse_of
from tasks.replacing import check_place, write_folder, write_whole
from tasks.where import Where
from warehouse.list_rows import list_rows
from warehouse.reviews import last_denoised


@dataclass(frozen=True)
class Lists:
    """Which lists, and how.

    Attributes:
        run: Number of the run.
        format: One of the formats.
        number: The round; None: the last one.
        negatives: Negatives per list; 0: all there are.
        with_approved: Candidates that the teacher approves of are among the negatives.
        scores: The teacher's raw logits, or what the student is trained towards: blended where the recipe blends.
    """

    run: int
    format: str
    number: int | None = None
    negatives: int = 7
    with_approved: bool = False
    scores: Literal["logit", "judgement"] = "logit"


@dataclass(frozen=True)
class Written:
    """The round that was written, how many lists (or rows), and of how many queries none came out."""

    number: int
    lists: int
    left_out: int


def export_lists(where: Where, wanted: Lists, path: Path) -> Written:
    """Write lists to a file, or for ColBERT to a folder.

    Raises:
        LookupError: The run has no such round, or no list can be made of it.
        ValueError: Scores are missing, the format cannot hold an id, or its library does not read files of this name.
        FileExistsError: There is something at the path.
        OSError: Nothing can be written there.
    """
    if path.exists():
        raise FileExistsError(f"{path} is there already; name another one, or move it away")
    check_place(path)
    if path.suffix not in SUFFIXES.get(wanted.format, (path.suffix,)):
        raise ValueError(
            f"{path}: {wanted.format} reads only files whose names end in {' or '.join(SUFFIXES[wanted.format])}, and "
            "passes over others without a word"
        )
    if wanted.format in FIXED and not wanted.negatives:
        raise ValueError(f"{wanted.format} needs lists of one length: say --negatives with a number above 0")
    warehouse = warehouse_of(where)
    found = last_denoised(warehouse, wanted.run)
    number = wanted.number or (found[1] if found else 0)
    rows = list_rows(warehouse, wanted.run, number)
    if not rows.height:
        raise LookupError(
            f"{where.warehouse_path}: run {wanted.run} has no lists of round {number or 1}; it does not exist, or did "
            "not come as far as denoising"
        )
    _check_scored(rows, wanted.run, number)
    lists = listings(rows.with_columns(logit=wanted.scores), wanted.with_approved)
    files, count = WRITERS[wanted.format](lists, wanted.negatives)
    if not count:
        raise LookupError(f"no query of round {number} has a positive and {wanted.negatives or 'any'} negatives")
    write_folder(path, files) if "" not in files else write_whole(path, files[""])
    return Written(number, count, _left_out(lists, wanted))


def _check_scored(rows: pl.DataFrame, run: int, number: int) -> None:
    missing = rows.filter(pl.col("logit").is_null())
    if missing.height:
        first = missing.row(0, named=True)
        raise ValueError(
            f"{missing.height:,} of {rows.height:,} pairs of run {run}, round {number} have no score (first: query "
            f"{first['query_id']!r}, passage {first['passage_id']!r}); nothing may stand in for a missing score: "
            "run again to score them"
        )


def _left_out(lists: Sequence[Listing], wanted: Lists) -> int:
    if wanted.format == "trec":
        return 0
    needed = wanted.negatives if wanted.format in FIXED else 1
    return sum(not each.positives or len(each.negatives) < needed for each in lists)
