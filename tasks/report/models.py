"""Models beside each other: one row per system, with intervals and the paired difference to the first model."""

import polars as pl

from tasks.evaluate.paired import compare, mean_interval
from tasks.report.tables import SHOWN
from warehouse import report_rows
from warehouse.connect import Warehouse


def model_table(warehouse: Warehouse, run: int, measure: str, first: str) -> pl.DataFrame:
    """Every system that a run measured, best first.

    Args:
        warehouse: Where the run is.
        run: Its number.
        measure: What they are ordered by.
        first: The model that the others are held against.

    Returns:
        `system`, the measure with its bootstrap 95 % interval `low, high`, other measures, `against` (the difference to
        `first`, null for itself) with `against_low, against_high, p` of a paired randomisation test, and `queries`.
    """
    values, board = report_rows.values(warehouse, run, measure), report_rows.board(warehouse, run)
    split = str(board["split"][0])
    others = [name for name in SHOWN if name != measure]
    rows = []
    for system in board["system"].unique(maintain_order=True):
        own = values.filter(pl.col("system") == system)
        array = own["value"].to_numpy()
        told = dict(board.filter(pl.col("system") == system).select("measure", "value").iter_rows())
        found = None if system == first else compare(values.filter(pl.col("system") == first), own, split, measure)
        tested = (found.difference, found.low, found.high, found.p) if found else (None,) * 4
        means = (told[measure], *mean_interval(array), *(told[name] for name in others))
        rows.append((system, *means, *tested, len(array)))
    columns = ["system", measure, "low", "high", *others, "against", "against_low", "against_high", "p", "queries"]
    return pl.DataFrame(rows, schema=columns, orient="row").sort(measure, descending=True, maintain_order=True)
