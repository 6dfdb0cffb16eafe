"""`remine runs`: what has been run."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flows.cli.options import HERE, Format, Home
from flows.cli.tables import existing, show
from flows.cli.terminal import say

if TYPE_CHECKING:
    import polars as pl

    from warehouse.connect import Warehouse


def runs(home: Home = HERE, format: Format = "table") -> None:
    """List the runs of this folder: recipe, when, how long, how it ended.

    **Example:** `remine runs`, then `remine export 3 my-student` for run 3
    """
    import polars as pl

    found, gone = as_they_are(existing(home), home)
    if found.is_empty() and format == "table":
        typer.echo("Nothing has run here yet.")
        return
    show(found.with_columns(pl.col("seconds").round().cast(pl.Int64)), format)
    if gone:
        say(f"`remine resume {gone[0]}` goes on from what run {gone[0]} finished.")


def as_they_are(warehouse: "Warehouse", home: Path) -> tuple["pl.DataFrame", list[int]]:
    """All runs, newest first, and the numbers of those that were killed before they could say so.

    They are shown as the next run will close them: whoever says that it is running and has no run lock is gone.
    """
    import polars as pl

    from flows.locks import running_now
    from warehouse.queries import run_rows
    from warehouse.register import KILLED

    before = open_runs(run_rows(warehouse))
    busy = bool(before) and running_now(home)
    found = run_rows(warehouse)  # once more: a run may have begun or ended meanwhile
    gone = [] if busy else sorted(before & open_runs(found), reverse=True)
    killed = pl.col("run").is_in(gone)
    shown = found.with_columns(
        pl.when(killed).then(pl.lit("crashed")).otherwise("status").alias("status"),
        pl.when(killed).then(pl.lit(KILLED)).otherwise("error").alias("error"),
    )
    return shown, gone


def open_runs(rows: "pl.DataFrame") -> set[int]:
    """Numbers of the runs that say that they are running."""
    return {run for run, status in rows.select("run", "status").iter_rows() if status == "running"}
