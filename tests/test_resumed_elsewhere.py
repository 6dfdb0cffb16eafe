"""A killed training that goes on in another way: on other threads, in other chunks."""

from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from training import PLAN, Killed, flat, kill_after, make_lists, train

from models.loop import train_student
from models.runtime import Runtime
from models.student import Student

PLAIN = replace(PLAN, save_seconds=0.0)
SAID = "goes on in another way"
looks = count()


def later(student: Student) -> float:
    """The last weights are the best."""
    return float(next(looks))


@pytest.fixture
def killed(tiny_student: Path, tmp_path: Path) -> Path:
    with pytest.raises(Killed):
        train(tiny_student, tmp_path / "parts", PLAIN, later, tick=kill_after(3))
    return tmp_path / "parts"


@pytest.mark.parametrize("change", [{"chunk_tokens": 40}, {"chunk_tokens": 40, "cache": True}])
def test_other_chunks_are_said_and_end_otherwise(
    tiny_student: Path, killed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, change: dict[str, Any]
) -> None:
    """Pitfall 28: dropout is drawn per chunk, so bit-equality would be promised and not kept."""
    whole, _ = train(tiny_student, tmp_path / "whole", PLAIN, later)
    resumed, trained = train(tiny_student, killed, replace(PLAIN, **change), later)
    assert SAID in caplog.text and "chunk_tokens 120 there, 40 here" in caplog.text
    assert ("cache False there, True here" in caplog.text) == ("cache" in change)
    assert trained.steps == PLAN.steps and not torch.equal(flat(resumed), flat(whole))


def test_without_dropout_only_rounding_differs(tiny_student: Path, tmp_path: Path) -> None:
    still = replace(PLAIN, dropout=0.0)
    whole, expected = train(tiny_student, tmp_path / "whole", still, later)
    with pytest.raises(Killed):
        train(tiny_student, tmp_path / "parts", still, later, tick=kill_after(3))
    resumed, trained = train(tiny_student, tmp_path / "parts", replace(still, chunk_tokens=40, cache=True), later)
    torch.testing.assert_close(flat(resumed), flat(whole), rtol=0, atol=2e-3)  # a step moves a weight by 1e-3 at most
    losses = [[row.loss for row in each.history[1:]] for each in (trained, expected)]
    assert len(losses[0]) == 6 and losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_other_threads_are_said(tiny_student: Path, killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    student = Student.load(tiny_student, Runtime("cpu", "fp32", 2))
    train_student(student, make_lists(student), PLAIN, later, killed)
    assert SAID in caplog.text and "threads 1 there, 2 here" in caplog.text


def test_the_same_way_is_not_spoken_of(tiny_student: Path, killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    train(tiny_student, killed, replace(PLAIN, record_every=1, save_seconds=60.0))
    assert SAID not in caplog.text
    train(tiny_student, killed, replace(PLAIN, chunk_tokens=40))
    assert SAID not in caplog.text, "nothing is left to go on with"
