"""The steps `promote` and `guard`."""

from tasks.evaluate.settings import Evaluation
from tasks.promote.deciding import Contender, Decision
from tasks.promote.settings import Promotion
from tasks.record import record, warehouse_of
from tasks.refs import Artifact, Run, StudentRef
from tasks.step import step


@step("promote")
def promote(
    run: Run, number: int, incumbent: Contender, challenger: Contender, settings: Promotion, measure: str
) -> Decision:
    """Choose the better of two students on dev."""
    from tasks.promote.deciding import decide
    from warehouse.load import load_diagnostics

    decision = decide(run.root, incumbent, challenger, settings, measure)
    key = record(run, decision.artifact, number)
    rows = decision.artifact.file("diagnostics.parquet")
    name = f"{decision.artifact.fingerprint}/diagnostics.parquet"
    load_diagnostics(warehouse_of(run.where), run.id, key, rows, name)
    return decision


@step("guard")
def guard(run: Run, settings: Promotion) -> Artifact | None:
    """Read the guard set and load it; None where the recipe names none.

    Call it before `ingest`: a run belongs to the corpus that it loads last.

    Raises:
        FileNotFoundError: The set or a file of it is not there.
        CorpusError: It would mislead, or has no label to measure by.
    """
    from tasks.ingest.corpus import make_corpus
    from tasks.promote.guarding import guard_part, guard_source
    from warehouse.load import load_corpus

    source = guard_source(settings)
    if source is None:
        return None
    corpus = make_corpus(run.root, source)
    record(run, guard_part(corpus), 0)
    load_corpus(warehouse_of(run.where), run.id, source.corpus, corpus.path, corpus.fingerprint)
    return corpus


@step("guard")
def evaluate_guard(run: Run, number: int, corpus: Artifact, student: StudentRef, settings: Evaluation) -> Artifact:
    """Measure a student on the guard set, as the split `guard`."""
    from tasks.encode import encode_corpus
    from tasks.evaluate.systems import evaluate_student
    from tasks.evaluate.task import load_measures
    from tasks.promote.guarding import guard_part

    vectors = encode_corpus(run.where, corpus, student)
    record(run, guard_part(vectors), number)
    artifact = evaluate_student(run.root, student.system, corpus, vectors, settings)
    load_measures(run, guard_part(artifact), number)
    return artifact
