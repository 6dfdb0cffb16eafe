"""`remine run`: the whole loop, from one recipe."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.cli.options import (
    HERE,
    Changes,
    Device,
    Home,
    OnRay,
    Precision,
    Processes,
    RecipeFile,
    Runner,
    Threads,
    spread,
)
from flows.cli.running import run_here
from flows.cli.terminal import prepare_logs

if TYPE_CHECKING:
    from flows.recipe import Recipe
    from tasks.where import Where


def run(
    recipe: RecipeFile = None,
    settings: Changes = None,
    home: Home = HERE,
    device: Device = "auto",
    threads: Threads = 0,
    precision: Precision = "auto",
    processes: Processes = 1,
    runner: Runner = "local",
    ray: OnRay = None,
) -> None:
    """Teach the student: ingest, warm up, then rounds of mining, scoring and training.

    Run again after an interruption, it goes on from what is there; unchanged, it does nothing again.

    **Example:** `remine run recipe.toml --set rounds=1 --set training.steps=200`
    """
    machine = {"device": device, "threads": threads, "precision": precision, "processes": processes}
    run_here(load_flow, *asked(recipe, settings, home, {**machine, **spread(runner, ray)}))


def asked(
    recipe: Path | None, settings: list[str] | None, home: Path, machine: dict[str, Any]
) -> "tuple[Recipe, Where]":
    """What the command line asks for: a recipe with its changes, and where it runs.

    Args:
        recipe: The recipe's file; None: the one of this folder.
        settings: `KEY=VALUE` each.
        home: The home folder.
        machine: Device, threads and the like, as `Where` has them.
    """
    path = recipe or default_recipe()
    prepare_logs()
    from flows.recipe import load_recipe
    from tasks.where import Where

    return load_recipe(path, settings or []), Where(home=home.resolve(), **machine)


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


def load_flow() -> Any:
    """The flow, imported late."""
    from flows.distill import distill

    return distill
