"""`remine doctor`: what stands in the way of runs, and what to do about it."""

from pathlib import Path

import typer

from flows.cli.options import HERE, Format, Home, OnRay, RecipeFile, Runner, spread


def doctor(
    recipe: RecipeFile = None,
    home: Home = HERE,
    runner: Runner = "local",
    ray: OnRay = None,
    format: Format = "table",
) -> None:
    """Look at server, warehouse, files and machine; every line says what to do where something is to be done.

    With a recipe, also whether its models are within reach; with `--runner ray`, whether the cluster is. Ends with 1
    where something will fail.

    **Example:** `remine doctor recipe.toml`
    """
    import polars as pl

    from flows.cli.tables import show
    from flows.doctor import as_rows, examine
    from flows.recipe import load_recipe
    from tasks.where import Where

    here = Path("recipe.toml")
    path = recipe or (here if here.is_file() else None)
    where = Where(home=home.resolve(), **spread(runner, ray))
    found = examine(where, load_recipe(path, []) if path else None)
    show(pl.DataFrame(as_rows(found)), format)
    if any(each.state == "bad" for each in found):
        raise typer.Exit(1)
