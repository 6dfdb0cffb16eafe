"""Tables of a run for the Prefect pages: how many verdicts of each kind, and false negatives to read."""

from collections.abc import Sequence

import polars as pl

from tasks.denoise.denoising import VERDICTS
from tasks.report.sections import reading
from tasks.report.summary import Placed
from tasks.report.tables import Table, markdown

READ = "False negatives to read"
LONGEST = 300  # characters of a text in a cell
COUNTED = {
    "queries": "queries judged",
    "queries_without_negatives": "queries without a negative",
    "empty_lists": "queries without a training list",
}


def verdicts_table(placed: Sequence[Placed]) -> Table:
    """How many pairs got each verdict, and what that did to queries, one column per round."""
    rounds = {each.number: each.artifact.facts for each in placed if each.artifact.step == "denoise"}
    rows = [[name, *(f"{facts['verdicts'][name]:,}" for facts in rounds.values())] for name in VERDICTS]
    rows += [[told, *(f"{facts[name]:,}" for facts in rounds.values())] for name, told in COUNTED.items()]
    return Table("Verdicts", ["verdict", *(f"round {number}" for number in rounds)], rows if rounds else [])


def to_read(rows: pl.DataFrame) -> str:
    """What the teacher approved of although nobody labelled it, the surest first, as Markdown for a person to read.

    Prefect shows the cells of its own tables on one line each, however long.

    Args:
        rows: As `warehouse.report_rows.to_read` gives them; empty: there is nothing to read.
    """
    cells = [
        [
            shortened(row["query"]),
            shortened(row["passage"]),
            f"rank {row['rank']}; {row['said']}",
            shortened(row["labelled"]),
        ]
        for row in reading(rows)
    ]
    table = Table(READ, ["query", "passage nobody labelled", "what the teacher says", "labelled instead"], cells)
    return markdown(table, ":---") if cells else ""


def shortened(text: str) -> str:
    """A text of the data on one line, and no longer than people read in a table."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
