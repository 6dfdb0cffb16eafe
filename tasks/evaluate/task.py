"""The steps `evaluate` and `threshold`, and TREC files."""

import logging
from pathlib import Path

from tasks.evaluate.settings import Evaluation
from tasks.record import record, warehouse_of
from tasks.refs import Artifact, Run, StudentRef, TeacherRef
from tasks.step import step

log = logging.getLogger("remine.evaluate")


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


@step("threshold")
def threshold(run: Run, number: int, corpus: Artifact, evaluated: Artifact) -> Artifact:
    """Find the similarity below which a student's answers are worse than none."""
    from tasks.evaluate.cutoff import threshold_of
    from warehouse.load import load_diagnostics

    artifact = threshold_of(run.root, corpus, evaluated)
    key = record(run, artifact, number)
    name = "diagnostics.parquet"
    load_diagnostics(warehouse_of(run.where), run.id, key, artifact.file(name), f"{artifact.fingerprint}/{name}")
    return artifact


@step("deliver")
def write_runs(run: Run, corpus: Artifact, folder: Path) -> None:
    """Write TREC runs of every system that the run measured, and qrels."""
    from tasks.evaluate.trec import write_trec
    from warehouse.queries import steps

    made = steps(warehouse_of(run.where), run.id).unique("artifact", maintain_order=True).rows(named=True)
    artifacts = [Artifact(step=row["step"], fingerprint=row["artifact"], path=Path(row["path"])) for row in made]
    ranked = [each for each in artifacts if (each.path / "ranking.parquet").exists()]
    for path in write_trec(folder, corpus, ranked):
        log.info("wrote %s", path)


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
