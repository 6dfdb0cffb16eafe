"""Progress on the Prefect page: shown where a server listens, never waited for."""

import logging
from typing import Any
from uuid import uuid4

import prefect.artifacts
import pytest
from prefect.context import TaskRunContext
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES

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
