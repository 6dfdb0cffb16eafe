"""`remine sweep`: one recipe with several values of a setting."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.options import HERE, Changes, Device, Home, OnRay, Precision, RecipeFile, Runner, Threads, spread
from flows.cli.run import default_recipe
from flows.cli.running import run_here
from flows.cli.terminal import prepare_logs, print_table, say


def sweep(
    recipe: RecipeFile = None,
    over: Annotated[
        list[str] | None,
        typer.Option("--over", metavar="KEY=VALUE,VALUE,…", help="A setting and its values; may come several times."),
    ] = None,
    measure: Annotated[
        str, typer.Option("--measure", help="The measure to show, such as R@10.", show_default="the recipe's")
    ] = "",
    settings: Changes = None,
    home: Home = HERE,
    device: Device = "auto",
    threads: Threads = 0,
    precision: Precision = "auto",
    runner: Runner = "local",
    ray: OnRay = None,
) -> None:
    """Run a recipe with every combination of some settings' values, and show what each came to.

    Every variant is a run of its own in the leaderboard; what two of them share is computed once. `table.csv` and
    `plot.svg` are written to `sweeps/NAME` as variants end; after an interruption, the same command goes on, or
    `remine resume` with the number of the sweep or of a variant.

    **Example:** `remine sweep recipe.toml --over training.batch=4,16,64 --over seed=0,1,2`
    """
    path = recipe or default_recipe()
    prepare_logs()
    from flows.variants import sweep_of
    from tasks.where import Where

    planned = sweep_of(path, over or [], settings or [], measure)
    where = Where(home=home.resolve(), device=device, threads=threads, precision=precision, **spread(runner, ray))
    show_sweep(run_here(load_flow, planned, where))


def show_sweep(folder: Path) -> None:
    """Show what a sweep came to, and say where it is."""
    import polars as pl

    table = pl.read_csv(folder / "table.csv")
    print_table(table.columns, table.rows())
    say(f"Wrote {folder}.")


def load_flow() -> Any:
    """The flow, imported late."""
    from flows.sweep import sweep_variants

    return sweep_variants
