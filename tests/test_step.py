"""What steps are called on Prefect's pages, where the Gantt chart has to read as the pipeline."""

from pathlib import Path
from typing import Any

import pytest
from prefect._internal.engine import resolve_custom_task_run_name

from tasks.encode import encode
from tasks.evaluate.task import evaluate_rerank, evaluate_shortened
from tasks.mine.task import mine
from tasks.refs import StudentRef
from tasks.step import step


def called(task: Any, **parameters: Any) -> str:
    return resolve_custom_task_run_name(task, parameters)


STUDENT = StudentRef(system="round-2", fingerprint="f", path=Path("p"))


def test_a_step_is_named_with_whom_it_is_about_or_with_its_round() -> None:
    assert called(encode, number=2, student=STUDENT) == "encode round-2"
    assert called(evaluate_shortened, number=2, encoded=(STUDENT, None), dimension=64) == "evaluate round-2@64"
    assert called(mine, number=2) == "mine round 2"
    assert called(evaluate_rerank, number=1) == "evaluate teacher round 1"


@pytest.mark.parametrize("task, name", [(mine, "mine"), (evaluate_rerank, "evaluate teacher")])
def test_what_comes_before_the_rounds_has_no_round(task: Any, name: str) -> None:
    assert called(task, number=0) == name


def test_a_step_without_rounds_is_its_verb() -> None:
    @step("export")
    def whatever(corpus: str) -> str:
        return corpus

    assert called(whatever, corpus="c") == "export"
