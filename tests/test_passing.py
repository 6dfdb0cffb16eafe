"""What can pass is tried again, and what fails the same way every time is not."""

import errno
import logging
from pathlib import Path
from typing import Any

import httpx
import huggingface_hub
import pytest
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

import tasks.step
from models.locate import ModelNotFound, locate
from tasks.passing import WAITS, can_pass
from tasks.step import step
from warehouse.disk import DiskFull


def answered(status: int) -> HfHubHTTPError:
    return HfHubHTTPError("no", response=httpx.Response(status, request=httpx.Request("GET", "https://hub.example")))


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ConnectionResetError(), True),
        (TimeoutError("timed out"), True),
        (httpx.ConnectError("no route"), True),
        (httpx.ReadTimeout("slow"), True),
        (answered(503), True),
        (answered(429), True),
        (OSError(errno.ESTALE, "stale file handle"), True),
        (answered(404), False),
        (answered(401), False),
        (OfflineModeIsEnabled("offline"), False),
        (BrokenPipeError(), False),
        (OSError(errno.ENOSPC, "no room"), False),
        (DiskFull("no room"), False),
        (FileNotFoundError(errno.ENOENT, "no such file"), False),
        (ValueError("a score is NaN"), False),
        (MemoryError(), False),
        (RuntimeError("CUDA out of memory"), False),
    ],
)
def test_what_comes_from_a_network_can_pass(error: Exception, passes: bool) -> None:
    assert can_pass(error) == passes


@pytest.mark.parametrize(("cause", "passes"), [(httpx.ConnectError("no"), True), (OfflineModeIsEnabled("off"), False)])
def test_a_hub_that_does_not_answer_can_pass(monkeypatch: pytest.MonkeyPatch, cause: Exception, passes: bool) -> None:
    """The error that a person reads is raised from the one that says why."""

    def download(name: str, **_: Any) -> str:
        raise LocalEntryNotFoundError("not here") from cause

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(ModelNotFound) as raised:
        locate("owner/model")
    assert can_pass(raised.value) == passes


def test_what_only_happened_before_an_error_is_not_its_reason() -> None:
    try:
        try:
            raise ConnectionError
        except ConnectionError:
            raise ValueError("bad data")  # noqa: B904
    except ValueError as error:
        assert not can_pass(error)


@pytest.mark.slow
@pytest.mark.usefixtures("prefect")
def test_a_step_is_tried_again_for_what_can_pass_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    from prefect import flow

    assert list(WAITS) == sorted(WAITS) and WAITS[0] > 0
    monkeypatch.setattr(tasks.step, "WAITS", (0.1, 0.2, 0.3))
    attempts: list[str] = []

    @step("fetch")
    def fetch(ends: int, error: Exception) -> int:
        attempts.append(str(error))
        if len(attempts) < ends:
            raise error
        return len(attempts)

    def tried(ends: int, error: Exception) -> int:
        attempts.clear()

        @flow
        def once() -> int:
            return fetch(ends, error)

        once(return_state=True)
        return len(attempts)

    with caplog.at_level(logging.WARNING, "remine.step"):
        assert tried(3, ConnectionError("no answer")) == 3
    told = [record.getMessage() for record in caplog.records if record.name == "remine.step"]
    assert [text.partition(": ")[0].rpartition(" in ")[2] for text in told] == ["0.1 s", "0.2 s"]
    assert tried(9, ConnectionError("no answer")) == 4, "three times, and then it is a failure"
    assert tried(9, ValueError("a score is NaN")) == 1
