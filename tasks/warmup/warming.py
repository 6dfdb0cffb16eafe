"""Training the base on the labels alone."""

from functools import partial
from typing import TYPE_CHECKING

from tasks.artifacts import Artifact
from tasks.refs import StudentRef
from tasks.train.training import Job, plan_options, run_job
from tasks.warmup.settings import Warmup
from tasks.where import Where

if TYPE_CHECKING:
    from models.lists import TrainingLists
    from models.loop import StudentPlan
    from models.student import Student

VERSION = 3


def warm_student(
    where: Where, corpus: Artifact, base: StudentRef, settings: Warmup, seed: int, measure: str
) -> Artifact:
    """Train the base with in-batch negatives; other positives and duplicates of a positive are never negatives.

    Args:
        where: Machine and paths.
        corpus: Texts and labels.
        base: The student as it comes.
        settings: Schedule and temperature.
        seed: Seed of draws and dropout.
        measure: The dev measure that chooses the checkpoint.
    """
    job = Job(
        step="warmup",
        code=VERSION,
        named={**settings.model_dump(mode="json", exclude={"control"}), "seed": seed, "measure": measure},
        corpus=corpus,
        start=base,
        inputs={},
        plan=warm_plan(settings, seed),
        lists=partial(_lists, corpus),
        measure=measure,
    )
    return run_job(where, job)


def warm_plan(settings: Warmup, seed: int) -> "StudentPlan":
    """Translate settings into the plan of the training loop."""
    from models.loop import StudentPlan
    from models.objectives import Term

    return StudentPlan(**plan_options(settings, seed), length=1, terms=(Term("contrastive", tau=settings.tau),))


def _lists(corpus: Artifact, student: "Student") -> "TrainingLists":
    from tasks.train.arrays import labelled_lists, training_lists

    return training_lists(corpus, labelled_lists(corpus), student)
