"""One invocation of a flow: alone on its warehouse, entered into `runs`, whatever its end."""

from collections.abc import Callable
from typing import Any, TypeVar

from prefect.states import Cancelled

from flows.locks import Busy, run_lock
from flows.recipe import Named
from tasks.refs import Run
from tasks.run import opened_run
from tasks.where import Where

R = TypeVar("R", bound=Named)


def exclusively(flow: str, body: Callable[[Run, R], Any], recipe: R, where: Where) -> Any:
    """Run a flow's body as the only one on its warehouse; a second run ends as Cancelled and names the first."""
    try:
        with run_lock(where.home, recipe.name), opened_run(flow, recipe.name, recipe, where) as run:
            return body(run, recipe)
    except Busy as busy:
        return Cancelled(message=str(busy))
