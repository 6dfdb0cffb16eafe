"""How long a step of training and a text take on this machine, tried for a few seconds; nothing is kept."""

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import TypeVar

from models.fitting import Descend, Plan, Progress, Trainable, take_step
from models.regime import dropout_of, frozen
from models.schedule import make_optimizer

P = TypeVar("P", bound=Plan)
Item = TypeVar("Item")

WARM = 16  # items before the clock runs: kernels are compiled and memory is taken at first use
SHARES = (8, 4)  # first looks are at batches this much smaller


def item_seconds(work: Callable[[list[Item]], int], items: list[Item], budget: float) -> tuple[float, float]:
    """Time a piece of work per item, on as many items as the budget allows.

    Args:
        work: Does some items and gives the tokens they had.
        items: What to try, in random order; at least one.
        budget: Seconds, about.

    Returns:
        Seconds per item, and tokens per item.
    """
    work(items[:WARM])
    count = min(WARM, len(items))
    while True:
        started = time.monotonic()
        tokens = work(items[:count])
        took = max(time.monotonic() - started, 1e-9)
        if took >= budget / 3 or count == len(items):
            return took / count, tokens / count
        count = min(len(items), max(2 * count, int(count * budget / 2 / took)))


def step_seconds(model: Trainable, plan: P, descent: Callable[[P], Descend], budget: float) -> float:
    """Time an optimiser step; the model's weights are of no use afterwards.

    Where whole batches would not fit into the budget, two smaller ones stand for them: a step takes what the optimiser
    takes whatever the batch, and beside that, time goes with its lists.

    Args:
        model: Student or teacher.
        plan: The training that is planned.
        descent: Makes the part of a step that goes forward and backward, for a plan.
        budget: Seconds, about.
    """
    looks = [replace(plan, batch=max(2, plan.batch // share)) for share in SHARES]
    with frozen(model.named_parameters(), plan.frozen), dropout_of(model.modules(), plan.dropout):
        optimizer = make_optimizer(model.named_parameters(), plan.lr, plan.weight_decay)

        def timed(some: P, seconds: float) -> float:
            """The median of at least two steps, after one that warms up."""
            descend, found, started = descent(some), list[float](), time.monotonic()
            while len(found) < 3 or time.monotonic() - started < seconds:
                before = time.monotonic()
                take_step(model, optimizer, some, descend, Progress(step=len(found) % some.steps))
                found.append(time.monotonic() - before)
            return median(found[1:])

        whole = extrapolated([(look.batch, timed(look, 0.0)) for look in looks], plan.batch)
        if 3 * whole > budget:
            return whole
        return timed(plan, budget / 2)


def extrapolated(looks: list[tuple[int, float]], batch: int) -> float:
    """Seconds of a batch by those of two smaller ones, `(lists, seconds)`: on a line through both.

    A reading is never taken for more than proportional to its lists, nor for less than constant.
    """
    (few, of_few), (more, of_more) = looks
    if more == few:
        return max(of_few, of_more) * max(1.0, batch / few)
    of_list = min(max(of_more - of_few, 0.0) / (more - few), of_more / more)
    return of_more + of_list * max(0, batch - more)
