"""`remine serve`: a recipe's flows on a schedule, and at the click of a button."""

import atexit
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import typer

from flows.cli.options import HERE, Changes, Device, Home, Precision, RecipeFile, Threads
from flows.cli.run import default_recipe
from flows.cli.terminal import prepare_logs, quieten_logs, say, stoppable


def serve(
    recipe: RecipeFile = None,
    cron: Annotated[
        str, typer.Option("--cron", help="When to run by itself, as cron writes it; none: only when somebody asks.")
    ] = "",
    timezone: Annotated[str, typer.Option("--timezone", help="Whose clock cron reads, as in Europe/Berlin.")] = "UTC",
    flow: Annotated[Literal["refresh", "distill"], typer.Option("--flow", help="What runs at that time.")] = "refresh",
    yaml: Annotated[
        Path | None,
        typer.Option("--yaml", dir_okay=False, help="Write a prefect.yaml for `prefect deploy` instead of serving."),
    ] = None,
    settings: Changes = None,
    home: Home = HERE,
    device: Device = "auto",
    threads: Threads = 0,
    precision: Precision = "auto",
) -> None:
    """Serve the recipe's flows to the Prefect pages: by schedule, and from the form behind “Run”.

    One process, one run at a time. The recipe is read once, at the start; paths in it count from this folder. Ctrl-C or
    SIGTERM ends it, and the run that is going on with it: what that has finished is kept.

    **Example:** `remine serve recipe.toml --cron "0 3 * * 1" --timezone Europe/Berlin`
    """
    path = recipe or default_recipe()
    prepare_logs()
    from flows.recipe import load_recipe
    from flows.server import connect
    from tasks.where import Where

    loaded = load_recipe(path, settings or [])
    if yaml is not None:
        from flows.deploying import as_yaml

        where = Where(home=home, device=device, threads=threads, precision=precision)
        yaml.write_text(as_yaml(loaded, where, cron, timezone, flow), "utf-8")
        say(f"Wrote {yaml}; its first lines say how it is used.")
        return
    where = Where(home=home.resolve(), device=device, threads=threads, precision=precision)
    where.home.mkdir(parents=True, exist_ok=True)
    with suppress(KeyboardInterrupt), stoppable():
        connection = connect(where.home)
        atexit.register(connection.leave)
        from flows.deploying import deployments
        from flows.deploying import serve as serve_all

        made = deployments(loaded, where, cron, timezone, flow)
        quieten_logs("--debug" in sys.argv)
        connection.wait_ready(say)
        os.environ["PREFECT_API_URL"] = connection.url  # for the processes of its runs
        say(f"Serving {', '.join(f'{each.flow_name}/{each.name}' for each in made)} at {connection.ui}")
        say(f"{flow} runs at {cron!r} ({timezone})." if cron else "Nothing is scheduled: --cron says when.")
        serve_all(made)
    say("Stopped serving.")
