"""`remine sql`: questions to the warehouse."""

import sys
from typing import Annotated

import typer

from flows.cli.options import HERE, Format, Home
from flows.cli.tables import existing, show


def sql(
    query: Annotated[str, typer.Argument(help="One query; - reads it from standard input.")],
    format: Format = "table",
    home: Home = HERE,
) -> None:
    """Ask the warehouse. It is only read, and a run that writes at the moment is waited for.

    The tables and views describe themselves: `remine sql "DESCRIBE scored_candidates"`.

    **Example:** `remine sql "SELECT system, value FROM leaderboard WHERE measure = 'nDCG@10'" --format csv`
    """
    import polars as pl

    from warehouse.queries import select_arrow

    found = select_arrow(existing(home), sys.stdin.read() if query == "-" else query)
    show(pl.DataFrame(found), format)
