"""One invocation of a flow: alone on its warehouse, entered into `runs`, whatever its end."""

from collections.abc import Callable
from typing import Any, TypeVar

from prefect.states import Cancelled

from flows.locks import Busy, run_lock
from flows.recipe import Named
from tasks.record import warehouse_of
from tasks.refs import Run
from tasks.run import opened_run
from tasks.where import Where
from warehouse.load import close_killed

R = TypeVar("R", bound=Named)


def exclusively(flow: str, body: Callable[[Run, R], Any], recipe: R, where: Where) -> Any:
    """Run a flow's body as the only one on its warehouse; a second run ends as Cancelled and names the first.

    A run that was killed left no word of its end: the next one closes it as crashed.
    """
    try:
        with run_lock(where.home, recipe.name):
            close_killed(warehouse_of(where))  # whoever still says "running" would hold the lock if it were
            with opened_run(flow, recipe.name, recipe, where) as run:
                return body(run, recipe)
    except Busy as busy:
        return Cancelled(message=str(busy))
