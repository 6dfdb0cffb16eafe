"""What every step's Prefect task has in common."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar, cast

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.passing import WAITS, can_pass

P = ParamSpec("P")
R = TypeVar("R")
ROUND = " round {number}"

log = logging.getLogger("remine.step")


def step(verb: str, shown: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a step's thin function a Prefect task named by its verb.

    Fingerprints decide what is done again, so Prefect's own cache and result storage stay off. A step that failed by
    what can pass is tried again, three times, and finds what it had finished.

    Args:
        verb: The step.
        shown: What a run of it is called on the pages, with its arguments in braces, as in "encode {student.system}";
            by default the verb, and the round where there is one.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        made: Any = task(
            name=verb,
            task_run_name=partial(_name, shown or _by_round(verb, function)),
            cache_policy=NO_CACHE,
            persist_result=False,
            log_prints=False,
            retries=len(WAITS),
            retry_delay_seconds=list(WAITS),
            retry_condition_fn=_again,
        )(function)
        return cast(Callable[P, R], made)

    return wrap


def _again(task: Any, task_run: Any, state: Any) -> bool:
    """Whether a failed step is tried again; Prefect asks only while there are attempts left."""
    again = can_pass(state.data) if isinstance(state.data, BaseException) else False
    if again:
        # Prefect counts the run that failed among those that there were.
        wait = WAITS[min(task_run.run_count, len(WAITS)) - 1]
        log.warning("%s failed and is tried again in %g s: %s", task_run.name, wait, state.data)
    return again


def _by_round(verb: str, function: Callable[..., Any]) -> str:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return f"{verb}{ROUND}" if "number" in names else verb


def _name(shown: str, parameters: dict[str, Any]) -> str:
    """What a task run is called; what comes before the rounds has no round."""
    return (shown if parameters.get("number") else shown.replace(ROUND, "")).format(**parameters)
