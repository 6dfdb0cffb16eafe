"""One invocation of a flow: alone on its warehouse, entered into `runs`, whatever its end."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from prefect.exceptions import TerminationSignal
from prefect.states import Cancelled

from flows.cancellation import cancellable
from flows.ends import close_gone
from flows.locks import Busy, run_lock
from flows.recipe import Named
from flows.webhook import tell
from tasks.refs import Run
from tasks.run import flow_run_id, opened_run
from tasks.where import Where

R = TypeVar("R", bound=Named)

CANCELLED = "Cancelled in Prefect; what was finished is kept, and the same command goes on from there."


def exclusively(flow: str, body: Callable[[Run, R], Any], recipe: R, where: Where) -> Any:
    """Run a flow's body as the only one on its warehouse; a second run ends as Cancelled and names the first.

    A run that was killed left no word of its end: the next one closes it as crashed.
    """
    logging.getLogger("remine").setLevel(logging.INFO)  # Prefect adds its handler to our loggers, and no level
    try:
        with run_lock(where.home, recipe.name):
            close_gone(where)
            return _told(flow, body, recipe, where)
    except Busy as busy:
        return Cancelled(message=str(busy))


def _told(flow: str, body: Callable[[Run, R], Any], recipe: R, where: Where) -> Any:
    """Run the body until its end, a signal, or a click on “Cancel”, and tell whoever wants to know how it ended."""
    with cancellable(flow_run_id()) as asked:
        try:
            with opened_run(flow, recipe.name, recipe, where) as run:
                result = body(run, recipe)
        except (KeyboardInterrupt, TerminationSignal):
            tell(flow, recipe.name, "cancelled", CANCELLED if asked.cancelled else "Stopped by a signal.")
            if asked.cancelled:
                return Cancelled(message=CANCELLED)
            raise
        except Exception as error:
            tell(flow, recipe.name, "failed", f"{type(error).__name__}: {error}")
            raise
    tell(flow, recipe.name, "completed", sentence_of(result))
    return result


def sentence_of(result: Any) -> str:
    """What came out, in one sentence: a verdict, or whatever the flow's result says of itself."""
    result = getattr(result, "data", result)
    for name in ("verdict", "sentence"):
        if isinstance(told := getattr(result, name, None), str):
            return told
    return "It came to its end."
