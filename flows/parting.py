"""Between the end of a run's work and that of its process: the Prefect server is told, as long as nobody minds."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from flows.cancellation import INTERRUPTED, TERMINATED
from flows.connection import Say

PATIENCE = 6.0  # seconds that whoever stopped a run waits for the server: with the end of a chunk, less than ten
WAITING = (
    "The work is over and written down. The Prefect server has not taken note of it yet, and is asked for minutes "
    "more; Ctrl-C ends the wait and loses nothing."
)


class Parting:
    """Waits beside Prefect's client, which tries for minutes, and which a signal makes begin anew.

    Attributes:
        failure: What the run failed with, for whoever has to tell it in the server's stead.
    """

    def __init__(self, say: Say, leave: Callable[[str], None]) -> None:
        """Nothing happens before the work is over.

        Args:
            say: Takes a sentence for the person who waits.
            leave: Ends this process; called by a thread, with the sentence on who stopped the run or the wait.
        """
        self.failure: Exception | None = None
        self._say, self._leave = say, leave
        self._stopped = ""
        self._begun, self._heard, self._asked = threading.Event(), threading.Event(), threading.Event()

    def begin(self, stopped: str = "", failure: Exception | None = None) -> None:
        """The work is over and written down; only the first call counts.

        Args:
            stopped: Who stopped it; empty: nobody did, and only a signal from now on ends the wait.
            failure: What it failed with.
        """
        if self._begun.is_set():
            return
        self._begun.set()
        self._stopped, self.failure = stopped, failure
        if not stopped:
            for number, told in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)):
                signal.signal(number, lambda *_, told=told: self._stop(told))
        threading.Thread(target=self._wait, daemon=True, name="remine-parting").start()

    def end(self) -> None:
        """The server was told."""
        self._heard.set()

    def _stop(self, told: str) -> None:
        self._stopped = told
        self._asked.set()

    def _wait(self) -> None:
        if self._heard.wait(PATIENCE):
            return
        if not self._stopped:
            self._say(WAITING)
            self._asked.wait()
        if not self._heard.is_set():
            self._leave(self._stopped)


_parting: ContextVar[Parting | None] = ContextVar("parting", default=None)


@contextmanager
def parted(parting: Parting) -> Iterator[None]:
    """Let the run in this block take leave by `parting`; whoever calls a flow without it waits as Prefect does."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    token = _parting.set(parting)
    try:
        yield
        parting.end()
    finally:
        _parting.reset(token)
        for number, answer in before.items():
            signal.signal(number, answer)


def work_over(stopped: str = "", failure: Exception | None = None) -> None:
    """Tell whoever started this run that its work is over; see `Parting.begin`."""
    if (parting := _parting.get()) is not None:
        parting.begin(stopped, failure)
