"""Running a flow in this process: a server to report to, signals as sentences, failures as they were raised."""

import atexit
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from flows.cancellation import CODES, KEPT
from flows.cli.terminal import Stopped, describe, quieten_logs, say, stoppable

if TYPE_CHECKING:
    from flows.connection import Connection
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
        say(f"Stopped; {KEPT}")
        raise typer.Exit(143 if isinstance(stop, Stopped) else 130) from None


def _run(load: Callable[[], Any], recipe: "Named", where: "Where") -> Any:
    from flows.server import connect

    connection = connect(where.home)
    # At exit: Prefect hands over its last logs and states before that, and they need the server.
    atexit.register(connection.leave)
    flow = load()
    quieten_logs("--debug" in sys.argv)
    connection.wait_ready(say)
    state = until_heard(connection, flow, recipe, where)
    if state.is_cancelled():
        message = str(state.message)
        say(message if message in CODES else f"Not run: {message}")
        raise typer.Exit(CODES.get(message, 1))
    result = state.result(raise_on_failure=False)
    if not state.is_completed():
        raise result
    return result


def until_heard(connection: "Connection", flow: Callable[..., Any], recipe: "Named", where: "Where") -> Any:
    """Run a flow and return its state; where the server is away, say so and end this process.

    It is away when Prefect's client has tried for minutes, or for as long as whoever stopped the run waits. At an exit
    as usual, Prefect's threads would try for minutes more to hand over what nobody takes.
    """
    from httpx import TransportError

    from flows.parting import Parting, parted

    def leave(told: str, code: int) -> None:
        """End this process with what it has to say; its threads are not waited for."""
        if parting.failure is not None:
            say(f"remine: {describe(parting.failure)}")
        unheard = f"The Prefect server at {connection.url} does not know how the run ended"
        say(f"{told} {unheard}; `remine runs` does, and the next run tells it.")
        connection.leave()
        sys.stdout.flush()
        os._exit(code)

    parting = Parting(say, lambda stopped: leave(stopped, CODES[stopped]))
    try:
        with parted(parting):
            return flow(recipe, where, return_state=True)
    except TransportError as error:
        leave(f"remine: no answer from Prefect for minutes ({error}); {KEPT}", 1)
