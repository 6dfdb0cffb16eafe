"""The steps `teach` and `calibrate`."""

from tasks.record import record, warehouse_of
from tasks.refs import Artifact, Run, TeacherRef
from tasks.settings import Settings
from tasks.step import step
from tasks.teach.gate import Gate
from tasks.teach.settings import Phases, Teach, TeacherSettings
from tasks.teach.teaching import Lectern


class TeacherPlanning(Settings):
    """Which teacher, how it is taught where none is named, and what decides between two."""

    teacher: TeacherSettings
    teach: Teach
    seed: int
    measure: str

    @property
    def gate(self) -> Gate:
        """What decides whether the teacher goes on teaching."""
        return Gate(rule=self.teacher.gate, measure=self.measure, seed=self.seed)


@step("teach")
def teach(run: Run, lectern: Lectern, planning: TeacherPlanning) -> TeacherRef:
    """Take the ready teacher that the recipe names, make one of several, or train one on the labels."""
    from tasks.score.stored import register
    from tasks.teach.ensemble import ensemble_of, gather_ensemble, score_members
    from tasks.teach.teaching import ready_teachers, taught_teacher, teach_folds

    ready = ready_teachers(planning.teacher)
    if len(ready) > 1:
        scored = score_members(run, lectern.corpus, lectern.mined, ready)
        artifact = gather_ensemble(run.root, ready, scored)
        for made in (*scored, artifact):
            record(run, made, 0)
        teacher = ensemble_of(artifact, ready)
    elif ready:
        (teacher,) = ready
    else:
        artifact = teach_folds(run.where, lectern, planning.teach, planning.seed, planning.measure)
        record(run, artifact, 0)
        teacher = taught_teacher(artifact)
    register(run, teacher)
    return teacher


@step("teach")
def teach_all(
    run: Run, lecterns: list[Lectern], settings: Phases, seed: int, measure: str
) -> tuple[Artifact, TeacherRef]:
    """Train one cross-encoder on the labels of several corpora."""
    from tasks.score.stored import register
    from tasks.teach.general import general_teacher, teach_general

    artifact = teach_general(run.where, lecterns, settings, seed, measure)
    record(run, artifact, 0)
    teacher = general_teacher(artifact, run.recipe)
    register(run, teacher)
    return artifact, teacher


@step("calibrate")
def calibrate(
    run: Run, corpus: Artifact, teacher: TeacherRef, ranked: Artifact, scored: Artifact, planning: TeacherPlanning
) -> TeacherRef:
    """Choose the blend on dev and give the teacher's judgement a probability.

    Raises:
        ValueError: The judgement goes against the labels, and no gate would stop such a teacher.
    """
    from tasks.score.stored import register
    from tasks.teach.calibrating import calibrated, calibration, refuse_upside_down

    how = (planning.teacher.blend, planning.measure)
    artifact = calibration(run.root, corpus, teacher, (ranked, scored), how)
    record(run, artifact, 0)
    teacher = calibrated(teacher, artifact)
    if planning.teacher.gate == "warn":
        refuse_upside_down(teacher)
    register(run, teacher)
    return teacher


@step("gate")
def gate(run: Run, number: int, student: Artifact, reranked: Artifact, planning: TeacherPlanning) -> bool:
    """Hold the teacher against the student that it is to teach next; returns whether it goes on teaching.

    Args:
        run: The run.
        number: The round that the student came out of; 0 is before the first.
        student: The student's evaluation.
        reranked: That of the teacher re-ranking what it found.
        planning: What decides.
    """
    from tasks.teach.gate import hold, judge_teacher
    from warehouse.load import load_diagnostics

    artifact = judge_teacher(run.root, student, reranked, planning.gate)
    key = record(run, artifact, number)
    name = "diagnostics.parquet"
    load_diagnostics(warehouse_of(run.where), run.id, key, artifact.file(name), f"{artifact.fingerprint}/{name}")
    return hold(artifact, number)


@step("find teacher")
def find_teacher(settings: TeacherSettings) -> TeacherRef:
    """Find a ready teacher: a cross-encoder, or the folds of an earlier teaching."""
    from tasks.teach.teaching import ready_teachers

    (teacher,) = ready_teachers(settings)
    return teacher
