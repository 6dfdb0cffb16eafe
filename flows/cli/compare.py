"""`remine compare`: two runs beside each other."""

from typing import Annotated

import typer

from flows.cli.options import HERE, Home
from flows.cli.tables import existing, names_and_rows
from flows.cli.terminal import print_table


def compare(
    first: Annotated[int, typer.Argument(metavar="RUN_A", min=1, help="Number of the run to compare with.")],
    second: Annotated[int, typer.Argument(metavar="RUN_B", min=1, help="Number of the run that is compared.")],
    home: Home = HERE,
) -> None:
    """Show what two runs were set to, what they chose, how sure the difference is, and which queries changed most.

    **Example:** `remine compare 1 3`
    """
    warehouse = existing(home)
    from tasks.report.comparing import compare_runs

    found = compare_runs(warehouse, first, second)
    typer.echo(
        f"Run {first} chose {found.systems[0]}, run {second} chose {found.systems[1]}; measured on {found.split}."
    )
    for number, stopped in zip((first, second), found.stopped, strict=True):
        if stopped:
            typer.echo(f"In run {number} {stopped}.")
    if not found.same_data:
        typer.echo("Their data differ: what grew is harder to search, and the same student measures lower on it.")
    if not found.settings.is_empty():
        typer.echo("\nSettings that differ:")
        print_table(*names_and_rows(found.settings))
    typer.echo("\nMeasures (difference with its 95 % interval, p of a paired randomisation test):")
    print_table(*names_and_rows(found.measures))
    if not found.queries.is_empty():
        typer.echo("\nQueries that changed most:")
        print_table(*names_and_rows(found.queries))
