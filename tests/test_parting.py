"""A run whose work is over and whose server is away: it waits for as long as nobody minds."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from queue import Empty, Queue

import pytest

from flows import parting
from flows.cancellation import INTERRUPTED, TERMINATED
from flows.parting import WAITING, Parting, parted, work_over

SHORT = 0.1


class Heard(Queue[str]):
    """What was said, and with which sentence the process was left."""

    def within(self, seconds: float) -> str:
        try:
            return self.get(timeout=seconds)
        except Empty:
            return ""


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    monkeypatch.setattr(parting, "PATIENCE", SHORT)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield Heard()
    for number, handler in before.items():
        signal.signal(number, handler)


def left(heard: Heard) -> Parting:
    return Parting(heard.put, lambda told: heard.put(f"left: {told}"))


def test_whoever_stopped_a_run_does_not_wait_for_minutes(heard: Heard) -> None:
    """Prefect's client tries for more than three; the process of a stopped run stood there as long, without a word."""
    with parted(left(heard)):
        begun = time.monotonic()
        work_over(INTERRUPTED)
        assert heard.within(5) == f"left: {INTERRUPTED}"
        assert SHORT <= time.monotonic() - begun < 2
    work_over(INTERRUPTED)
    assert heard.within(3 * SHORT) == "", "outside of the block nobody is left"


def test_a_server_that_was_told_ends_nothing(heard: Heard) -> None:
    with parted(left(heard)):
        work_over(TERMINATED)
    assert heard.within(3 * SHORT) == ""


@pytest.mark.parametrize(("number", "told"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)])
def test_a_run_that_came_to_its_end_waits_until_a_signal(heard: Heard, number: int, told: str) -> None:
    """A signal there makes Prefect's client begin its minutes anew."""
    made, before, failure = left(heard), signal.getsignal(number), ValueError("what it failed with")
    with parted(made):
        work_over(failure=failure)
        work_over(TERMINATED)  # the first call counts
        assert heard.within(5) == WAITING
        assert heard.within(3 * SHORT) == ""
        os.kill(os.getpid(), number)
        assert heard.within(5) == f"left: {told}" and made.failure is failure
    assert signal.getsignal(number) is before


def test_before_the_work_is_over_nothing_is_watched(heard: Heard) -> None:
    """Who stops a run waits for the end of its chunk and for the warehouse, however long they take."""
    with parted(left(heard)):
        assert "remine-parting" not in {thread.name for thread in threading.enumerate() if thread.is_alive()}
        time.sleep(3 * SHORT)
    assert heard.within(SHORT) == ""
