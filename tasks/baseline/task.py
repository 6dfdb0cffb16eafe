"""The step `baseline`."""

import logging

from tasks.baseline.settings import StudentSettings
from tasks.evaluate.settings import Evaluation
from tasks.evaluate.task import load_measures, load_ranked
from tasks.record import warehouse_of
from tasks.refs import Artifact, Run, StudentRef
from tasks.step import step

log = logging.getLogger("remine.baseline")


@step("baseline")
def baseline(run: Run, corpus: Artifact, student: StudentSettings, evaluation: Evaluation) -> StudentRef:
    """Measure chance and BM25, and find the student as it comes; the flow measures it like every other one."""
    from tasks.baseline.systems import evaluate_bm25, evaluate_chance

    words = (evaluation.depth, evaluation.ignore_identical_ids)
    load_measures(run, evaluate_chance(run.root, corpus, evaluation.depth), 0)
    load_ranked(run, evaluate_bm25(run.root, corpus, *words), 0)
    return found_student(run, student)


@step("find student")
def find_student(run: Run, student: StudentSettings) -> StudentRef:
    """Find a student as it comes, for flows that don't measure it beside chance and BM25."""
    return found_student(run, student)


def found_student(run: Run, student: StudentSettings) -> StudentRef:
    """Find a student and enter it into the table `models`."""
    from tasks.baseline.systems import base_student, describe_student
    from warehouse.load import register_model

    base = base_student(run.where, student)
    facts = describe_student(base.path)
    register_model(warehouse_of(run.where), "student", student.model, base.fingerprint, facts)
    return base


@step("baseline")
def hybrid(run: Run, corpus: Artifact, base: Artifact, evaluation: Evaluation) -> Artifact:
    """Measure BM25 and the base together, and say what is known before anything is trained.

    Args:
        run: The run.
        corpus: passages, queries and labels.
        base: The base's evaluation.
        evaluation: Depths.
    """
    from tasks.baseline.systems import evaluate_bm25, evaluate_hybrid

    words = evaluate_bm25(run.root, corpus, evaluation.depth, evaluation.ignore_identical_ids)
    artifact = evaluate_hybrid(run.root, corpus, words, base, evaluation.depth)
    load_ranked(run, artifact, 0)
    for warning in artifact.facts["warnings"]:
        log.warning("%s", warning)
    return artifact
