"""A small training run that several tests share."""

import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tiny import sentences

from models.fitting import Trained
from models.lists import Judged, Role, TrainingLists, pair_keys
from models.loop import StudentPlan, train_student
from models.objectives import Term
from models.runtime import Runtime
from models.student import Student

FP32 = Runtime("cpu", "fp32", 1)
KL = (Term("kl", tau=0.1, teacher_tau=2.0), Term("contrastive", weight=0.5, tau=0.1))
PLAN = StudentPlan(steps=6, batch=4, length=3, terms=KL, lr=1e-3, evaluate_every=2, record_every=1, chunk_tokens=120)
N = 10
Measure = Callable[[Student], float]


class Killed(RuntimeError):
    """Stands for `kill -9`."""


def make_lists(student: Student, targets: bool = True) -> TrainingLists:
    """Ten queries, each with one positive and three negatives."""
    drawing = np.random.default_rng(1)
    queries = np.repeat(np.arange(N), 4)
    passages = np.concatenate([[row, *(10 + drawing.choice(10, 3, replace=False))] for row in range(N)])
    roles = np.tile([Role.POSITIVE, Role.NEGATIVE, Role.NEGATIVE, Role.NEGATIVE], N).astype(np.int8)
    logits = np.where(roles == Role.POSITIVE, 3.0, drawing.normal(-2, 1, len(roles))).astype(np.float32)
    return TrainingLists.build(
        Judged(queries, passages, roles, logits if targets else np.full_like(logits, np.nan)),
        student.tokenize_queries(sentences(N, seed=1, longest=6)),
        student.tokenize_passages(sentences(20, seed=2, longest=12)),
        pair_keys(queries[roles == 1], passages[roles == 1], 20),
    )


def flat(student: Student) -> torch.Tensor:
    return torch.cat([value.reshape(-1).float() for _, value in sorted(student.state().items())])


def scripted(measures: list[float]) -> Measure:
    """Give these measures one after the other."""
    left = iter(measures)
    return lambda student: next(left)


def by_weights(student: Student) -> float:
    """A measure that the weights alone determine, and that goes up and down."""
    return math.sin(1000 * float(flat(student).abs().sum()))


def train(path: Path, folder: Path, plan: StudentPlan = PLAN, measure: Measure = by_weights, **more: Any) -> Any:
    student = Student.load(path, FP32)
    trained = train_student(student, make_lists(student), plan, measure, folder, **more)
    return student, trained


def timeless(trained: Trained) -> list[dict[str, Any]]:
    return [{**asdict(row), "seconds": 0} for row in trained.history]


def kill_after(steps: int) -> Callable[[int], None]:
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        if done >= steps:
            raise Killed

    return tick
