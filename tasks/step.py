"""What every step's Prefect task has in common."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from prefect import task
from prefect.cache_policies import NO_CACHE

P = ParamSpec("P")
R = TypeVar("R")


def step(verb: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a step's thin function a Prefect task named by its verb.

    Fingerprints decide what is done again, so Prefect's own cache and result storage stay off.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        made: Any = task(
            name=verb,
            task_run_name=_name(verb, function),
            cache_policy=NO_CACHE,
            persist_result=False,
            log_prints=False,
        )(function)
        return cast(Callable[P, R], made)

    return wrap


def _name(verb: str, function: Callable[..., Any]) -> str:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return f"{verb} round {{number}}" if "number" in names else verb
