"""Progress that moves: a bar in the terminal, and an artifact on the Prefect task run."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar
from uuid import UUID

from tqdm import tqdm

Tick = Callable[[int], None]
Answer = TypeVar("Answer")
SHOWN_EVERY = 5.0  # seconds between two updates of the Prefect artifact
ANSWER = 5.0  # seconds that a step waits for a server that takes the question and says nothing …
UNHEARD = 60.0  # … and works before it asks again

log = logging.getLogger("remine.progress")


@contextmanager
def progress(label: str, total: int, unit: str) -> Iterator[Tick]:
    """Show how far a piece of work has come.

    Args:
        label: What is being done, in words.
        total: How many units there are in all.
        unit: What is counted (passages, pairs, steps).

    Yields:
        A function to call with the number of units just finished.
    """
    bar = tqdm(total=total, desc=label, unit=f" {unit}", leave=False, disable=not sys.stderr.isatty())
    shown = _Artifact(label, total, unit)
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        bar.update(count)
        shown.update(done)

    try:
        yield tick
    finally:
        bar.close()
        shown.close(done)


class _Artifact:
    """The progress artifact of the surrounding Prefect task run; nothing outside of one."""

    def __init__(self, label: str, total: int, unit: str) -> None:
        self.label, self.total, self.unit = label, max(total, 1), unit
        self.last = time.monotonic()
        self.id: UUID | None = None
        self.heard = True

    def update(self, done: int) -> None:
        if time.monotonic() - self.last >= (SHOWN_EVERY if self.heard else UNHEARD):
            self._show(100.0 * done / self.total)
            self.last = time.monotonic()
            log.info("%s: %d of %d %s", self.label, done, self.total, self.unit)

    def close(self, done: int) -> None:
        if self.id is not None:
            self._show(100.0 * done / self.total)

    def _show(self, percent: float) -> None:
        from prefect.context import TaskRunContext

        if TaskRunContext.get() is None:
            return
        try:
            ask_once(lambda: self._tell(min(percent, 100.0)))
            self.heard = True
        except Exception as error:  # a server that is away must not cost computed work
            if self.heard:
                log.warning("progress of %s could not be shown: %s", self.label, error)
            self.heard = False

    def _tell(self, percent: float) -> None:
        from prefect.artifacts import create_progress_artifact, update_progress_artifact

        if self.id is None:
            made = create_progress_artifact(percent, description=f"{self.label} ({self.unit})")
            self.id = made if isinstance(made, UUID) else None
        else:
            update_progress_artifact(self.id, progress=percent)


def ask_once(ask: Callable[[], Answer]) -> Answer:
    """Ask the Prefect server once and for seconds: for what is shown, no step waits until a server is back.

    A server closes connections that were quiet for seconds, which Prefect's client keeps for longer: a question that
    meets the closing is dropped unread, and is asked again on a connection of its own.
    """
    from httpx import ReadError, RemoteProtocolError, WriteError

    with _brief():
        try:
            return ask()
        except (ReadError, RemoteProtocolError, WriteError):
            return ask()


@contextmanager
def _brief() -> Iterator[None]:
    """No repeats by Prefect's client, and seconds for an answer."""
    from prefect.context import SettingsContext, SyncClientContext, get_settings_context

    # Prefect's own `temporary_settings` reads environment and files anew: 60 ms of the processor each time.
    around = get_settings_context()
    client = around.settings.client.model_copy(update={"max_retries": 0})
    api = around.settings.api.model_copy(update={"request_timeout": ANSWER})
    settings = around.settings.model_copy(update={"client": client, "api": api})
    with SettingsContext(profile=around.profile, settings=settings), ExitStack() as after:
        if (made := SyncClientContext.get()) is not None:  # the step's own: its patience was settled at its beginning
            http = made.client._client
            after.callback(setattr, http, "timeout", http.timeout)
            http.timeout = ANSWER
        yield
