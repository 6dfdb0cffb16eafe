"""Running a flow in this process: a server to report to, signals as sentences, failures as they were raised."""

import atexit
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from flows.cli.terminal import Stopped, quieten_logs, say, stoppable

if TYPE_CHECKING:
    from flows.recipe import Named
    from tasks.where import Where


def run_here(load: Callable[[], Any], recipe: "Named", where: "Where") -> Any:
    """Run a flow and return its result.

    Args:
        load: Imports the flow; called once it is settled which Prefect server is used.
        recipe: What it does.
        where: Machine and paths.

    Raises:
        Exception: What the flow failed with.
        typer.Exit: A signal came, or another run holds the warehouse.
    """
    try:
        with stoppable():
            return _run(load, recipe, where)
    except KeyboardInterrupt as stop:
        say("Stopped. What was finished is kept: the same command goes on from there.")
        raise typer.Exit(143 if isinstance(stop, Stopped) else 130) from None


def _run(load: Callable[[], Any], recipe: "Named", where: "Where") -> Any:
    from flows.server import connect

    connection = connect(where.home)
    # At exit: Prefect hands over its last logs and states before that, and they need the server.
    atexit.register(connection.leave)
    flow = load()
    quieten_logs("--debug" in sys.argv)
    connection.wait_ready(say)
    state: Any = flow(recipe, where, return_state=True)
    if state.is_cancelled():
        message = str(state.message)
        say(message if message.startswith("Cancelled") else f"Not run: {message}")
        raise typer.Exit(1)
    result = state.result(raise_on_failure=False)
    if not state.is_completed():
        raise result
    return result
