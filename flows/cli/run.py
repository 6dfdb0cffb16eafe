"""`remine run`: the whole loop, from one recipe."""

import atexit
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows.cli.options import HERE, Home
from flows.cli.terminal import Stopped, prepare_logs, quieten_logs, say, stoppable

if TYPE_CHECKING:
    from flows.recipe import Recipe
    from tasks.where import Where

Device = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["auto", "fp32", "bf16"]


def run(
    recipe: Annotated[
        Path | None, typer.Argument(metavar="[RECIPE.toml]", help="The recipe; recipe.toml in this folder by default.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the recipe; may be given several times."),
    ] = None,
    home: Home = HERE,
    device: Annotated[Device, typer.Option(help="Where to compute.")] = "auto",
    threads: Annotated[int, typer.Option(min=0, help="Threads to compute with; 0 takes every core.")] = 0,
    precision: Annotated[Precision, typer.Option(help="auto takes bf16 where the hardware has it.")] = "auto",
) -> None:
    """Teach the student: ingest, warm up, then rounds of mining, scoring and training.

    Run again after an interruption, it goes on from what is there; unchanged, it does nothing again.

    **Example:** `remine run recipe.toml --set rounds=1 --set training.steps=200`
    """
    path = recipe or default_recipe()
    prepare_logs()
    from flows.recipe import load_recipe
    from tasks.where import Where

    loaded = load_recipe(path, settings or [])
    where = Where(home=home.resolve(), device=device, threads=threads, precision=precision)
    try:
        with stoppable():
            distill_here(loaded, where)
    except KeyboardInterrupt as stop:
        say("Stopped. What was finished is kept: the same command goes on from there.")
        raise typer.Exit(143 if isinstance(stop, Stopped) else 130) from None


def default_recipe() -> Path:
    """The recipe of this folder.

    Raises:
        FileNotFoundError: There is none.
    """
    path = Path("recipe.toml")
    if not path.is_file():
        raise FileNotFoundError(
            "no recipe was named and this folder has no recipe.toml; `remine init YOUR_DATA` writes one, "
            "and `remine run flows/presets/sample.toml` runs the sample"
        )
    return path


def distill_here(recipe: "Recipe", where: "Where") -> None:
    """Run the flow `distill` in this process, with a Prefect server to report to.

    Raises:
        Exception: What the flow failed with.
        typer.Exit: Another run holds the warehouse.
    """
    from flows.server import connect

    connection = connect(where.home)
    # At exit: Prefect hands over its last logs and states before that, and they need the server.
    atexit.register(connection.leave)
    from flows.distill import distill

    quieten_logs("--debug" in sys.argv)
    connection.wait_ready(say)
    state: Any = distill(recipe, where, return_state=True)
    if state.is_cancelled():
        say(f"Not run: {state.message}")
        raise typer.Exit(1)
    if not state.is_completed():
        raise state.result(raise_on_failure=False)
