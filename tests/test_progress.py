"""Progress on the Prefect page: shown where a server listens, never waited for."""

import logging
import socket
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import prefect.artifacts
import pytest
from httpx import ReadTimeout
from prefect.context import SyncClientContext, TaskRunContext
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_CLIENT_MAX_RETRIES,
    PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED,
    temporary_settings,
)

from tasks import progress


def test_a_server_that_is_away_is_asked_once_each_time_and_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Seven retries bear minutes at the end of a run; a step that waited so for each update would stand still."""
    asked: list[int] = []
    answers = iter([uuid4(), OSError("nobody there"), OSError("nobody there"), None, OSError("gone again")])

    def ask(*_: Any, **__: Any) -> Any:
        asked.append(PREFECT_CLIENT_MAX_RETRIES.value())
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(progress, "SHOWN_EVERY", 0.0)
    monkeypatch.setattr(progress, "UNHEARD", 0.0)
    monkeypatch.setattr(TaskRunContext, "get", classmethod(lambda cls: object()))
    monkeypatch.setattr(prefect.artifacts, "create_progress_artifact", ask)
    monkeypatch.setattr(prefect.artifacts, "update_progress_artifact", ask)
    with caplog.at_level(logging.WARNING, "remine"), progress.progress("score", 4, "pairs") as tick:
        for _ in range(4):
            tick(1)
    assert asked == [0] * 5 and PREFECT_CLIENT_MAX_RETRIES.value() > 0
    assert [record.getMessage() for record in caplog.records] == [
        "progress of score could not be shown: nobody there",
        "progress of score could not be shown: gone again",
    ]


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of somebody who takes every question and answers none."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/api"


def test_a_server_that_says_nothing_is_waited_for_seconds(monkeypatch: pytest.MonkeyPatch, silent: str) -> None:
    """Prefect's client waits a minute for an answer, so a run with a server that hangs did five seconds' work in 65."""
    monkeypatch.setattr(progress, "ANSWER", 0.3)
    with (
        temporary_settings({PREFECT_API_URL: silent, PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED: False}),
        SyncClientContext() as made,
    ):
        patience, begun = made.client._client.timeout, time.monotonic()
        with progress.asked_once(), pytest.raises(ReadTimeout):
            prefect.artifacts.update_progress_artifact(uuid4(), 50.0)
        assert 0.3 <= time.monotonic() - begun < 10
        assert made.client._client.timeout == patience and (patience.read or 0) > 10


def test_after_no_answer_work_goes_on_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, asked = SimpleNamespace(now=0.0), list[float]()

    def ask(*_: Any, **__: Any) -> Any:
        asked.append(clock.now)
        clock.now += progress.ANSWER
        raise OSError("nobody there")

    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(TaskRunContext, "get", classmethod(lambda cls: object()))
    monkeypatch.setattr(prefect.artifacts, "create_progress_artifact", ask)
    with progress.progress("score", 200, "pairs") as tick:
        for _ in range(200):
            clock.now += 1.0
            tick(1)
    assert asked == [5.0, 70.0, 135.0, 200.0]
