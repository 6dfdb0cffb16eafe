"""The step `evaluate`."""

from tasks.evaluate.settings import Evaluation
from tasks.record import record, warehouse_of
from tasks.refs import Artifact, Run, StudentRef, TeacherRef
from tasks.step import step


@step("evaluate", "evaluate {student.system}")
def evaluate(
    run: Run, number: int, corpus: Artifact, student: StudentRef, vectors: Artifact, settings: Evaluation
) -> Artifact:
    """Measure a student on dev and test, beside chance."""
    from tasks.evaluate.systems import evaluate_student

    artifact = evaluate_student(run.root, student.system, corpus, vectors, settings)
    load_ranked(run, artifact, number)
    return artifact


@step("evaluate", "evaluate {encoded[0].system}@{dimension}")
def evaluate_shortened(
    run: Run, number: int, corpus: Artifact, encoded: tuple[StudentRef, Artifact], settings: Evaluation, dimension: int
) -> Artifact:
    """Measure a student by the first numbers of its vectors alone (system `NAME@dimension`)."""
    from tasks.evaluate.systems import evaluate_student

    student, vectors = encoded
    artifact = evaluate_student(run.root, student.system, corpus, vectors, settings, dimension)
    load_ranked(run, artifact, number)
    return artifact


@step("evaluate", "evaluate teacher round {number}")
def evaluate_rerank(
    run: Run, number: int, corpus: Artifact, ranked: Artifact, scored: Artifact, teacher: TeacherRef
) -> Artifact:
    """Measure the teacher re-ranking what a student ranked first (systems `teacher` and `round-N+teacher`)."""
    from tasks.evaluate.systems import evaluate_reranked

    artifact = evaluate_reranked(run.root, corpus, ranked, scored, teacher)
    load_ranked(run, artifact, number)
    return artifact


def load_ranked(run: Run, artifact: Artifact, number: int) -> None:
    """Enter the evaluation of a system that ranks passages, its rankings included."""
    from warehouse.load import load_rankings

    key = load_measures(run, artifact, number)
    name = "ranking.parquet"
    load_rankings(warehouse_of(run.where), run.id, key, artifact.file(name), f"{artifact.fingerprint}/{name}")


def load_measures(run: Run, artifact: Artifact, number: int) -> int:
    """Enter an evaluation and its measures into the warehouse, and return its key there."""
    from warehouse.load import load_metrics, load_query_metrics

    key = record(run, artifact, number)
    warehouse = warehouse_of(run.where)
    for load, name in ((load_metrics, "metrics.parquet"), (load_query_metrics, "query_metrics.parquet")):
        load(warehouse, run.id, key, artifact.file(name), f"{artifact.fingerprint}/{name}")
    return key
