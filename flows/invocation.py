"""One invocation of a flow: alone on its warehouse, entered into `runs`, whatever its end."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from prefect.exceptions import TerminationSignal
from prefect.states import Cancelled

from flows.cancellation import SERVED, cancellable
from flows.ends import close_gone
from flows.locks import Busy, run_lock
from flows.parting import work_over
from flows.recipe import Named
from flows.webhook import tell
from tasks.record import warehouse_of
from tasks.refs import Run
from tasks.run import flow_run_id, opened_run
from tasks.where import Where
from warehouse.register import finish_run

R = TypeVar("R", bound=Named)

_outer: ContextVar[Run | None] = ContextVar("outer", default=None)  # the run whose flow this one is called in


def exclusively(flow: str, body: Callable[[Run, R], Any], recipe: R, where: Where) -> Any:
    """Run a flow's body as the only one on its warehouse; a second run ends as Cancelled and names the first.

    A run that was killed left no word of its end: the next one closes it as crashed. A flow that another one calls, as
    a sweep calls its variants, is a run of its own under the lock of the other.
    """
    logging.getLogger("remine").setLevel(logging.INFO)  # Prefect adds its handler to our loggers, and no level
    if _outer.get() is not None:
        return _told(flow, body, recipe, where)
    try:
        with run_lock(where.home, recipe.name):
            close_gone(where)
            result = _told(flow, body, recipe, where)
    except Busy as busy:
        return Cancelled(message=str(busy))
    except Exception as error:
        work_over(failure=error)
        raise
    work_over()
    return result


def _told(flow: str, body: Callable[[Run, R], Any], recipe: R, where: Where) -> Any:
    """Run the body until its end, a signal, or a click on “Cancel”, and tell whoever wants to know how it ended.

    Stopped by a person it ends as Cancelled, here as in the warehouse; Prefect would call a signal a crash, for which
    people have alarms. What a runner of Prefect stops, the runner gives its state.
    """
    with cancellable(flow_run_id()) as asked:
        try:
            with opened_run(flow, recipe.name, recipe, where, _outer.get()) as run, _inside(run):
                result = body(run, recipe)
        except (KeyboardInterrupt, TerminationSignal) as stop:
            told = asked.told(stop)
            tell(flow, recipe.name, "cancelled", told)
            if SERVED in os.environ:
                raise
            _close_outer(where)
            work_over(told)
            return Cancelled(message=told)
        except Exception as error:
            tell(flow, recipe.name, "failed", f"{type(error).__name__}: {error}")
            raise
    tell(flow, recipe.name, "completed", sentence_of(result))
    return result


def _close_outer(where: Where) -> None:
    """Close the run that this one is a part of: what stops a part ends the whole, which may not get to say so."""
    if (outer := _outer.get()) is not None:
        finish_run(warehouse_of(where), outer.id, "cancelled", "stopped by a signal")


@contextmanager
def _inside(run: Run) -> Iterator[None]:
    token = _outer.set(run)
    try:
        yield
    finally:
        _outer.reset(token)


def sentence_of(result: Any) -> str:
    """What came out, in one sentence: a verdict, or whatever the flow's result says of itself."""
    result = getattr(result, "data", result)
    for name in ("verdict", "sentence"):
        if isinstance(told := getattr(result, name, None), str):
            return told
    return "It came to its end."
