"""`remine refresh`: what has come in since the last run, and nothing else."""

import typer

from flows.cli.options import HERE, Changes, Device, Home, OnRay, Precision, RecipeFile, Runner, Threads, spread
from flows.cli.run import asked
from flows.cli.running import run_here


def refresh(
    recipe: RecipeFile = None,
    settings: Changes = None,
    home: Home = HERE,
    device: Device = "auto",
    threads: Threads = 0,
    precision: Precision = "auto",
    runner: Runner = "local",
    ray: OnRay = None,
) -> None:
    """Bring the student in use up to date with the data: new, edited and removed passages, queries and labels.

    Only new texts are encoded and only new pairs scored; a short training goes on from the student in use, and what
    comes of it is promoted where the gain is proven. Where nothing has changed, nothing is done.

    **Example:** `remine refresh recipe.toml`, every night
    """
    machine = {"device": device, "threads": threads, "precision": precision, **spread(runner, ray)}
    found = run_here(load_flow, *asked(recipe, settings, home, machine))
    if sentence := getattr(found, "sentence", ""):
        typer.echo(sentence)


def load_flow() -> object:
    """The flow, imported late."""
    from flows.refresh import refresh as flow

    return flow
