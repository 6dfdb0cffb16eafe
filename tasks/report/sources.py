"""How a teacher of several collections does on each: a student's rankings, and the same re-ranked by it."""

from collections.abc import Sequence

import polars as pl

from tasks.evaluate.paired import compare
from tasks.evaluate.systems import reranked_name
from warehouse import report_rows
from warehouse.connect import Warehouse


def source_table(warehouse: Warehouse, run: int, sources: Sequence[str], measure: str) -> pl.DataFrame:
    """One row per collection and split.

    Args:
        warehouse: Where the run is.
        run: Its number.
        sources: The collections' names, which are the systems' in the run.
        measure: The measure to show.

    Returns:
        `source, split, queries, student, teacher` (means), `gain` with its bootstrap 95 % interval `low, high`, and `p`
        of a paired randomisation test, two-sided.
    """
    values = report_rows.values(warehouse, run, measure)
    rows = []
    for source in sources:
        own, again = (values.filter(pl.col("system") == name) for name in (source, reranked_name(source)))
        for split in sorted(own["split"].unique()):
            found = compare(own, again, split, measure)
            means = [float(side.filter(pl.col("split") == split)["value"].to_numpy().mean()) for side in (own, again)]
            rows.append((source, split, found.queries, *means, found.difference, found.low, found.high, found.p))
    names = ["source", "split", "queries", "student", "teacher", "gain", "low", "high", "p"]
    return pl.DataFrame(rows, schema=names, orient="row")
