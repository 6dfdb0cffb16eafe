"""`remine runs`: what has been run."""

import typer

from flows.cli.options import HERE, Format, Home
from flows.cli.tables import existing, show


def runs(home: Home = HERE, format: Format = "table") -> None:
    """List the runs of this folder: recipe, when, how long, how it ended.

    **Example:** `remine runs`, then `remine export 3 my-student` for run 3
    """
    import polars as pl

    from warehouse.queries import run_rows

    found = run_rows(existing(home))
    if found.is_empty() and format == "table":
        typer.echo("Nothing has run here yet.")
        return
    show(found.with_columns(pl.col("seconds").round().cast(pl.Int64)), format)
