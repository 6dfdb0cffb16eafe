"""Stopping a run that no runner watches over, one that a person started with `remine run`: by a click, or a signal."""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

LOOK_EVERY = 5.0  # seconds between two looks at the run's state
SERVED = "PREFECT__FLOW_RUN_ID"  # set by Prefect's runners for the processes that they start, and stop themselves

KEPT = "what was finished is kept, and the same command goes on from there."
CLICKED, INTERRUPTED, TERMINATED = f"Cancelled in Prefect; {KEPT}", f"Stopped by Ctrl-C; {KEPT}", f"Stopped; {KEPT}"
CODES = {CLICKED: 1, INTERRUPTED: 130, TERMINATED: 143}  # what a command that was stopped so ends with

log = logging.getLogger("remine.run")


class Halted(KeyboardInterrupt):
    """A flow that this one called was stopped; the message is one of `CODES`."""


@dataclass
class Asked:
    """Whether somebody asked for the end of the run."""

    cancelled: bool = False

    def told(self, stop: BaseException) -> str:
        """Who stopped the run, in a sentence of `CODES`.

        Args:
            stop: What the signal was turned into; a click comes as SIGTERM does.
        """
        if self.cancelled:
            return CLICKED
        if isinstance(stop, Halted):
            return str(stop)
        # Prefect makes an exception of its own of SIGTERM; the command line's is a kind of KeyboardInterrupt.
        return INTERRUPTED if type(stop) is KeyboardInterrupt else TERMINATED


@contextmanager
def cancellable(flow_run: str | None) -> Iterator[Asked]:
    """Look every few seconds whether the flow run was cancelled; where it was, stop this process as SIGTERM does.

    A server that is away is asked again later. Nothing is watched outside of Prefect, in a process that a runner of
    Prefect started, and outside the main thread, which alone can be interrupted.

    Args:
        flow_run: Id of the flow run; None outside of Prefect.
    """
    asked = Asked()
    if flow_run is None or SERVED in os.environ or threading.current_thread() is not threading.main_thread():
        yield asked
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(flow_run, asked, over), daemon=True, name="remine-cancellation")
    watcher.start()
    try:
        yield asked
    finally:
        over.set()


def _watch(flow_run: str, asked: Asked, over: threading.Event) -> None:
    away = False
    while not over.wait(LOOK_EVERY):
        try:
            for cancelled in _looks(flow_run, over):
                if away:
                    log.warning("The Prefect server answers again.")
                away = False
                if cancelled and not over.is_set():
                    asked.cancelled = True
                    os.kill(os.getpid(), signal.SIGTERM)
                    return
        except Exception as error:  # away, restarting, or too busy to answer
            if not away:
                log.warning("The Prefect server does not answer (%s). The run goes on; it is asked again.", error)
            away = True


def _looks(flow_run: str, over: threading.Event) -> Iterator[bool]:
    with _asking() as is_cancelled:
        while True:
            yield is_cancelled(flow_run)
            if over.wait(LOOK_EVERY):
                return


@contextmanager
def _asking() -> Iterator[Callable[[str], bool]]:
    """Whether a flow run was cancelled, asked by one client: to make one reads certificates, 40 ms of the processor."""
    from uuid import UUID

    from httpx import Limits
    from prefect.client.orchestration import get_client

    # A server may close a quiet connection, and a question that meets the closing is lost: each has one of its own.
    with get_client(httpx_settings={"limits": Limits(max_keepalive_connections=0)}, sync_client=True) as client:

        def is_cancelled(flow_run: str) -> bool:
            state = client.read_flow_run(UUID(flow_run)).state
            return state is not None and (state.is_cancelling() or state.is_cancelled())

        yield is_cancelled
