"""The step `warmup`."""

from tasks.refs import Artifact, Run, StudentRef
from tasks.step import step
from tasks.train.task import enter_training
from tasks.warmup.settings import Warmup


@step("warmup")
def warmup(run: Run, corpus: Artifact, base: StudentRef, settings: Warmup, seed: int, measure: str) -> StudentRef:
    """Train the base on the labels alone: the miner of round 1, and the control."""
    return _warm(run, corpus, base, settings, (seed, measure, "warm"))


@step("warmup-long")
def warmup_long(run: Run, corpus: Artifact, base: StudentRef, settings: Warmup, seed: int, measure: str) -> StudentRef:
    """Train the base on the labels alone for as many steps as warm-up and a round: the equal-compute control."""
    return _warm(run, corpus, base, settings, (seed, measure, "warm-long"))


def _warm(run: Run, corpus: Artifact, base: StudentRef, settings: Warmup, how: tuple[int, str, str]) -> StudentRef:
    from tasks.train.training import student_of
    from tasks.warmup.warming import warm_student

    seed, measure, system = how
    artifact = warm_student(run.where, corpus, base, settings, seed, measure)
    student = student_of(artifact, system, base)
    enter_training(run, 0, artifact, student)
    return student
