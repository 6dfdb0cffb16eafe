"""`remine ui`: the Prefect pages of this folder's runs."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import HERE, Home
from flows.cli.terminal import say, stoppable

if TYPE_CHECKING:
    from flows.local_server import LocalServer


def ui(
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port to listen on.", show_default="any free")
    ] = None,
    home: Home = HERE,
) -> None:
    """Open this folder's runs in the browser: steps, logs, progress, tables.

    Starts the Prefect server on the folder's database, or joins the one of a run that is going on. Ctrl-C ends it.

    **Example:** `remine ui --port 4200`
    """
    from flows.server import Connection, LocalServer, configured_url

    if url := configured_url():
        Connection(url).wait_ready(say)
        say("PREFECT_API_URL is set, so runs report to that server. Its pages:")
        typer.echo(Connection(url).ui)
        return
    if not (home / ".prefect").is_dir():
        raise FileNotFoundError(f"{home.resolve()}: nothing has run here yet; `remine run` comes first, or name --home")
    server = LocalServer(home, port)
    try:
        with stoppable():
            server.wait_ready(say)
            close_killed(home)
            typer.echo(server.ui)
            watch(server, port)
    except KeyboardInterrupt:
        say("Closed. Runs that are going on keep their server.")
    finally:
        server.leave()


def close_killed(home: Path) -> None:
    """Close runs that were killed, which the pages would go on showing as running."""
    from flows.cli.runs import as_they_are
    from flows.ends import close_gone
    from flows.locks import Busy, run_lock
    from tasks.record import warehouse_of
    from tasks.where import Where
    from warehouse.errors import WarehouseBusy

    where = Where(home=home.resolve())
    try:
        if where.warehouse_path.exists() and as_they_are(warehouse_of(where), home)[1]:
            with run_lock(home, "remine ui"):
                close_gone(where)
    except (Busy, WarehouseBusy):  # whoever has it closes them, or the next run does
        return


def watch(server: "LocalServer", port: int | None) -> None:
    """Stay until Ctrl-C, or until the server is gone."""
    if port not in (None, server.port):
        say(f"This folder's server listens on port {server.port} already, so {port} was not used.")
    say("Ctrl-C ends it.")
    while server.server.alive:
        time.sleep(0.5)
    raise RuntimeError(f"the Prefect server ended by itself; see {server.log}")
