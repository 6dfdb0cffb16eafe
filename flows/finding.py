"""What `remine doctor` found: one line each, with what to do where something is to be done."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

State = Literal["good", "look", "bad"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: What was looked at.
        state: good; look: it works, and somebody should know; bad: something will fail.
        told: What was found.
        todo: What to do; empty where nothing is to be done.
    """

    name: str
    state: State
    told: str
    todo: str = ""


Check = Callable[[], Finding]


def examined(name: str, check: Check) -> Finding:
    """Look at one thing; where that itself fails, the failure is the finding, and the others are still looked at."""
    try:
        return check()
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        return Finding(name, "bad", f"cannot be looked at: {told}", "mend what the message names, then ask again")
