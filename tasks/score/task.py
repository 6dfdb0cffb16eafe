"""The step `score`."""

from tasks.record import record
from tasks.refs import Artifact, Run, TeacherRef
from tasks.score.settings import Scoring
from tasks.step import step


@step("score")
def score(
    run: Run, number: int, corpus: Artifact, pairs: Artifact, teacher: TeacherRef, sizes: Scoring = Scoring()
) -> Artifact:
    """Score the pairs that this teacher has not scored yet, and gather the scores of all."""
    from tasks.score.scoring import Work, score_pairs

    artifact = score_pairs(Work(run=run, corpus=corpus, pairs=pairs, teacher=teacher, sizes=sizes))
    record(run, artifact, number)
    return artifact
