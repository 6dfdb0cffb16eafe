"""The flow `evaluate`: models as they come, beside chance and BM25, before anyone trains."""

from typing import Any

from prefect import flow

from flows.comparison import Comparison
from flows.ends import ENDS
from flows.invocation import exclusively
from flows.standing import Measured, rerank
from tasks.baseline.settings import StudentSettings
from tasks.baseline.task import baseline, hybrid
from tasks.encode import encode
from tasks.evaluate.settings import Evaluation
from tasks.evaluate.task import evaluate, write_runs
from tasks.ingest.task import ingest
from tasks.refs import Artifact, Run
from tasks.teach.task import find_teacher
from tasks.where import Where


@flow(name="evaluate", flow_run_name="{request.name}", persist_result=False, **ENDS)
def evaluate_models(request: Comparison, where: Where = Where()) -> Any:
    """Measure models on the labels of a corpus, each beside chance, BM25 and the others.

    Args:
        request: Which models, on what data.
        where: Machine, folder and precision; none of it changes what comes out beyond rounding.
    """
    return exclusively("evaluate", evaluate_each, request, where)


def evaluate_each(run: Run, request: Comparison) -> Run:
    """The steps, in reading order."""
    corpus = ingest(run, request.source)
    named = zip(request.systems, request.models, strict=True)
    measured = [as_it_comes(run, corpus, name, model, request.evaluation) for name, model in named]
    hybrid(run, corpus, measured[0].evaluation, request.evaluation)
    if request.teacher.model:
        teacher = find_teacher(request.teacher)
        for each in measured:
            rerank(run, 0, corpus, each, teacher)
    if request.trec_out:
        write_runs(run, corpus, request.trec_out)
    return run


def as_it_comes(run: Run, corpus: Artifact, system: str, model: StudentSettings, evaluation: Evaluation) -> Measured:
    """Measure one model under a name of its own."""
    student = baseline(run, corpus, model, evaluation).model_copy(update={"system": system})
    vectors = encode(run, 0, corpus, student)
    measured = evaluate(run, 0, corpus, student, vectors, evaluation)
    return Measured(student=student, vectors=vectors, evaluation=measured)
