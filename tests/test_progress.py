"""Progress on the Prefect page: shown where a server listens, never waited for."""

import logging
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread
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
    Settings,
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
        with pytest.raises(ReadTimeout):
            progress.ask_once(lambda: prefect.artifacts.update_progress_artifact(uuid4(), 50.0))
        assert 0.3 <= time.monotonic() - begun < 10
        assert made.client._client.timeout == patience and (patience.read or 0) > 10


@pytest.fixture
def closing() -> Iterator[tuple[str, list[int]]]:
    """A server that answers one question a connection and closes it at the next, unread; and the questions answered."""
    answered: list[int] = []
    reply = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]"

    def serve(listener: socket.socket) -> None:
        with suppress(OSError):  # the listener is closed at the end
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    answered.append(1)
                    connection.sendall(reply)
                    connection.recv(65536)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=serve, args=(listener,), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/api", answered
        listener.shutdown(socket.SHUT_RDWR)


def test_a_question_that_meets_the_closing_of_its_connection_is_asked_again(closing: tuple[str, list[int]]) -> None:
    """Servers close what was quiet for five seconds, and progress is shown every five: a bar stood still."""
    url, answered = closing
    with (
        temporary_settings({PREFECT_API_URL: url, PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED: False}),
        SyncClientContext() as made,
    ):
        for number in (1, 2, 3):
            progress.ask_once(lambda: made.client.request("GET", "/hello"))
            assert len(answered) == number


def test_asking_reads_no_settings_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefect's `temporary_settings` reads environment and files again: with it each showing cost 60 ms, every 5 s."""
    with temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 3}):
        monkeypatch.setattr(Settings, "__init__", None)
        assert progress.ask_once(PREFECT_CLIENT_MAX_RETRIES.value) == 0
        assert PREFECT_CLIENT_MAX_RETRIES.value() == 3


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
