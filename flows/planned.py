"""Who would go on, in a plan."""

from dataclasses import dataclass

from flows.standing import Measured
from tasks.promote.deciding import Decision


@dataclass(frozen=True)
class Decided:
    """Who goes on, where that is known."""

    winner: Measured
    decision: Decision | None
