"""What the tests of several processes run in each of them: importable by name."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from training import PLAN, by_weights, flat, make_lists

from models.cache import backward
from models.fitting import Trained
from models.lists import Batch
from models.loop import StudentPlan, batch_loss, chunked, train_student
from models.objectives import Term
from models.runtime import Runtime
from models.student import Student
from models.team import Team

Arrays = dict[str, NDArray[np.float32]]
TERMS = (Term("kl", tau=0.1), Term("margin_mse", weight=0.1), Term("contrastive", tau=0.1, symmetric=True))


def one_step(path: Path, team: Team, tick: Any = None) -> list[tuple[float, Arrays]]:
    """Loss and gradients of a batch, without dropout: in one graph, and with the gradient cache."""
    return [_one_step(path, cache, team) for cache in (False, True)]


def _one_step(path: Path, cache: bool, team: Team) -> tuple[float, Arrays]:
    student = Student.load(path, Runtime("cpu", "fp32", 1, team))
    plan = StudentPlan(1, batch=7, length=4, terms=TERMS, chunk_tokens=60, cache=cache)
    batch: Batch = make_lists(student).draw(plan.draw, 0)
    groups = chunked(student, batch, plan.chunk_tokens)
    loss = backward(groups, partial(batch_loss, student, plan, batch), "cpu", cache, team=team)
    team.add_up(student.parameters())
    return loss, {name: weight.grad.numpy() for name, weight in student.named_parameters() if weight.grad is not None}


def whole_run(path: Path, folder: Path, steps: int, dropout: float, team: Team, tick: Any = None) -> Any:
    """A training; gives how it ended and the weights."""
    student = Student.load(path, Runtime("cpu", "fp32", 1, team))
    plan = replace(PLAN, steps=steps, dropout=dropout, save_seconds=0.0)

    def measure(some: Student) -> float:
        assert team.rank == 0, "only the first process evaluates"
        return by_weights(some)

    trained: Trained = train_student(student, make_lists(student), plan, measure, folder, tick)
    return trained, flat(student).numpy()


def killed_run(path: Path, folder: Path, team: Team, tick: Any) -> Any:
    """A training whose second process dies in its third step."""
    from training import kill_after

    student = Student.load(path, Runtime("cpu", "fp32", 1, team))
    plan = replace(PLAN, dropout=0.1, save_seconds=0.0)
    told = kill_after(3) if team.rank else tick
    return train_student(student, make_lists(student), plan, by_weights, folder, told)
