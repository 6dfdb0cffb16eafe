"""`remine report`: a run as one page to read."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import HERE, Home
from flows.cli.tables import existing
from flows.cli.terminal import say


def report(
    run: Annotated[int, typer.Argument(min=1, help="Number of the run, as `remine runs` lists it.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The file to write.", show_default="report-RUN.html in this folder"),
    ] = None,
    home: Home = HERE,
) -> None:
    """Write a run's report as one HTML file that needs no network: verdict, plots, passages to read, costs.

    **Example:** `remine report 3 --out report.html`
    """
    from tasks.replacing import check_place
    from tasks.report.page import report_page, save_page

    path = (out or Path(f"report-{run}.html")).resolve()
    check_place(path)
    say(f"Wrote {save_page(report_page(existing(home), run), path)}.")
