"""The flow `teach`: one teacher for many collections, taught on the labels of several."""

from typing import Any

from prefect import flow

from flows.curriculum import Curriculum
from flows.ends import ENDS
from flows.invocation import exclusively
from flows.standing import Measured, rerank
from tasks.baseline.task import find_student
from tasks.encode import encode
from tasks.evaluate.settings import Evaluation
from tasks.evaluate.task import evaluate
from tasks.ingest.settings import Source
from tasks.ingest.task import ingest
from tasks.mine.miners import Miners
from tasks.mine.task import mine
from tasks.refs import Artifact, Run, StudentRef
from tasks.settings import Settings
from tasks.teach.names import refuse_misnamed_teacher
from tasks.teach.task import teach_all
from tasks.teach.teaching import Lectern
from tasks.where import Where


@flow(name="teach", flow_run_name="{curriculum.name}", persist_result=False, **ENDS)
def teach_general(curriculum: Curriculum, where: Where = Where()) -> Any:
    """Teach one cross-encoder on the labels of several collections, and measure it on each.

    Args:
        curriculum: Which collections, and how.
        where: Machine, folder and precision; none of it changes what comes out beyond rounding.
    """
    return exclusively("teach", teach_each, curriculum, where)


class Made(Settings):
    """What came out: the run's number, and the artifact that holds the teacher."""

    run: int
    artifact: Artifact

    @property
    def sentence(self) -> str:
        """What came out, for whoever did not ask for a copy of it."""
        return f"The teacher is in {self.artifact.file('model')}; `remine teach` copies it to where --out says."


def teach_each(run: Run, curriculum: Curriculum) -> Made:
    """The steps, in reading order."""
    refuse_misnamed_teacher(curriculum.teach.frozen, curriculum.student)
    corpora = [ingest(run, source) for source in curriculum.sources]
    named = list(zip(curriculum.sources, corpora, strict=True))
    student = find_student(run, curriculum.student)
    measured = [as_it_comes(run, source, corpus, student, curriculum.evaluation) for source, corpus in named]
    lecterns = [opened(run, corpus, each, curriculum) for corpus, each in zip(corpora, measured, strict=True)]
    taught, teacher = teach_all(run, lecterns, curriculum.teach, curriculum.seed, curriculum.evaluation.measure)
    for corpus, each in zip(corpora, measured, strict=True):
        rerank(run, 0, corpus, each, teacher)
    return Made(run=run.id, artifact=taught)


def as_it_comes(run: Run, source: Source, corpus: Artifact, student: StudentRef, evaluation: Evaluation) -> Measured:
    """Measure the student on one corpus, under the corpus' name."""
    named = student.model_copy(update={"system": source.corpus})
    vectors = encode(run, 0, corpus, named)
    measured = evaluate(run, 0, corpus, named, vectors, evaluation)
    return Measured(student=named, vectors=vectors, evaluation=measured)


def opened(run: Run, corpus: Artifact, measured: Measured, curriculum: Curriculum) -> Lectern:
    """What the teacher learns from in one corpus: its labels, and as hard negatives what the student finds."""
    mined = mine(run, 0, corpus, Miners.first(measured.miner, measured.miner), curriculum.mining)
    return Lectern(corpus=corpus, warm=measured.student, mined=mined, ranked=measured.evaluation)
