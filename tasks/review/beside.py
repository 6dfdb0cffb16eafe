"""What stands beside a pair in a table of answers: it must still be the pair's, or the answer is about another one."""

from pathlib import Path
from typing import Any

import polars as pl

from tasks.review.table import LONGEST_CELL, SHOWN_BESIDE

SHOWN = 5


def check_beside(path: Path, answers: pl.DataFrame, known: pl.DataFrame) -> None:
    """Refuse answers beside ids or texts of another pair: a column that was sorted alone, a cell that was edited.

    What spreadsheets change by themselves is no difference: blanks, line ends, the writing of numbers, cut texts.

    Args:
        path: The table, for messages.
        answers: As `read_table` gives them.
        known: row, query, passage, query_ids, passage_ids: what the warehouse has under each row's hashes.

    Raises:
        ValueError: Rows do not fit; the message names them.
    """
    said = answers.join(known, on="row", maintain_order="left")
    faults = [fault for row in said.iter_rows(named=True) if (fault := _fault(row))]
    if faults:
        more = f"\n  and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        shown = "".join(f"\n  {fault}" for fault in faults[:SHOWN])
        raise ValueError(
            f"{path}: {len(faults)} rows have ids or texts that are not those of the row's pair, so it is unclear what "
            f"was answered; nothing was imported:{shown}{more}\nPut them back, or delete the column if a spreadsheet "
            "changed it: `pair` alone names both texts"
        )


def _fault(row: dict[str, Any]) -> str:
    """The first cell that is another pair's, in words; nothing where all fit."""
    meant = {
        "query": [row["query"]],
        "passage": [row["passage"]],
        "query_id": row["query_ids"],
        "passage_id": row["passage_ids"],
    }
    for name in SHOWN_BESIDE:
        cell = row[f"shown_{name}"]
        if cell and not any(_same(cell, one) for one in meant[name]):
            needed = " or ".join(f"{one!r:.60}" for one in meant[name][:3])
            return f"row {row['row']}: {name} is {cell!r:.60}, and that of the pair is {needed}"
    return ""


def _same(cell: str, text: str) -> bool:
    shown, whole = " ".join(cell.split()), " ".join(text.split())
    if len(text) > LONGEST_CELL:
        return whole.startswith(shown.removesuffix("…").rstrip())
    return shown == whole or _same_number(shown, whole)


def _same_number(shown: str, whole: str) -> bool:
    """Whether a spreadsheet writes one as the other: 007 as 7, 12345678901234567890 as 1.23457E+19."""
    try:
        cell, number = float(shown.replace(",", ".")), float(whole)
    except ValueError:
        return False
    mantissa, exponent, _ = shown.lower().partition("e")
    digits = len(mantissa.replace(",", ".").partition(".")[2])
    return cell == number or (bool(exponent) and f"{number:.{digits}e}" == f"{cell:.{digits}e}")
