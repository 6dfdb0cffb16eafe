"""`remine serve`: a recipe's flows on a schedule, and at the click of a button."""

import atexit
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows.cli.options import HERE, Changes, Device, Home, OnRay, Precision, RecipeFile, Runner, Threads, spread
from flows.cli.run import default_recipe
from flows.cli.terminal import prepare_logs, quieten_logs, say, stoppable

if TYPE_CHECKING:
    from flows.recipe import Recipe
    from tasks.where import Where


Cron = Annotated[
    str, typer.Option("--cron", help="When to run by itself, as cron writes it; none: only when somebody asks.")
]
Timezone = Annotated[str, typer.Option("--timezone", help="Whose clock cron reads, as in Europe/Berlin.")]
Scheduled = Annotated[Literal["refresh", "distill"], typer.Option("--flow", help="What runs at that time.")]
Yaml = Annotated[
    Path | None,
    typer.Option("--yaml", dir_okay=False, help="Write a prefect.yaml for `prefect deploy` instead of serving."),
]


def serve(
    recipe: RecipeFile = None,
    cron: Cron = "",
    timezone: Timezone = "UTC",
    flow: Scheduled = "refresh",
    yaml: Yaml = None,
    settings: Changes = None,
    home: Home = HERE,
    device: Device = "auto",
    threads: Threads = 0,
    precision: Precision = "auto",
    runner: Runner = "local",
    ray: OnRay = None,
) -> None:
    """Serve the recipe's flows to the Prefect pages: by schedule, and from the form behind “Run”.

    One process, one run at a time. The recipe is read once, at the start; paths in it count from this folder. Ctrl-C or
    SIGTERM ends it, and the run that is going on with it: what that has finished is kept.

    **Example:** `remine serve recipe.toml --cron "0 3 * * 1" --timezone Europe/Berlin`
    """
    path = recipe or default_recipe()
    prepare_logs()
    from flows.recipe import load_recipe
    from tasks.where import Where

    loaded = load_recipe(path, settings or [])
    machine: dict[str, Any] = {"device": device, "threads": threads, "precision": precision, **spread(runner, ray)}
    where = Where(home=home if yaml else home.resolve(), **machine)
    if yaml is not None:
        from flows.deploying import as_yaml

        yaml.write_text(as_yaml(loaded, where, cron, timezone, flow), "utf-8")
        say(f"Wrote {yaml}; its first lines say how it is used.")
        return
    _serve(loaded, where, cron, timezone, flow)


def _serve(recipe: "Recipe", where: "Where", cron: str, timezone: str, flow: str) -> None:
    """Deploy to the server that is configured, or to one of our own, and wait for work until a signal comes."""
    from flows.server import connect

    where.home.mkdir(parents=True, exist_ok=True)
    with suppress(KeyboardInterrupt), stoppable():
        connection = connect(where.home)
        atexit.register(connection.leave)
        from flows.deploying import deployments
        from flows.deploying import serve as serve_all

        made = deployments(recipe, where, cron, timezone, flow)
        quieten_logs("--debug" in sys.argv)
        connection.wait_ready(say)
        os.environ["PREFECT_API_URL"] = connection.url  # for the processes of its runs
        say(f"Serving {', '.join(f'{each.flow_name}/{each.name}' for each in made)} at {connection.ui}")
        say(f"{flow} runs at {cron!r} ({timezone})." if cron else "Nothing is scheduled: --cron says when.")
        serve_all(made)
    say("Stopped serving.")
