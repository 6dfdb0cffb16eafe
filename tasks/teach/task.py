"""The steps `teach` and `calibrate`."""

from tasks.record import record, warehouse_of
from tasks.refs import Artifact, Run, TeacherRef
from tasks.settings import Settings
from tasks.step import step
from tasks.teach.settings import Teach, TeacherSettings
from tasks.teach.teaching import Lectern


class TeacherPlanning(Settings):
    """Which teacher, how it is taught where none is named, and what decides between two."""

    teacher: TeacherSettings
    teach: Teach
    seed: int
    measure: str


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


@step("calibrate")
def calibrate(
    run: Run, corpus: Artifact, teacher: TeacherRef, ranked: Artifact, scored: Artifact, planning: TeacherPlanning
) -> TeacherRef:
    """Choose the blend on dev and give the teacher's judgement a probability."""
    from tasks.score.stored import register
    from tasks.teach.calibrating import calibrate_teacher

    how = (planning.teacher.blend, planning.measure)
    calibrated = calibrate_teacher(run.root, corpus, teacher, (ranked, scored), how)
    register(run, calibrated)
    return calibrated


@step("gate")
def gate(run: Run, warm: Artifact, reranked: Artifact, planning: TeacherPlanning) -> Artifact:
    """Hold the teacher against the student that it is to teach.

    Raises:
        TeacherAddsNothing: It is not proven to be better, and the recipe says to stop then.
    """
    from tasks.teach.gate import hold, judge_teacher
    from warehouse.load import load_diagnostics

    artifact = judge_teacher(run.root, warm, reranked, planning.measure, planning.seed)
    key = record(run, artifact, 0)
    name = "diagnostics.parquet"
    load_diagnostics(warehouse_of(run.where), run.id, key, artifact.file(name), f"{artifact.fingerprint}/{name}")
    hold(artifact, planning.teacher.gate)
    return artifact


@step("find teacher")
def find_teacher(settings: TeacherSettings) -> TeacherRef:
    """Find a ready teacher: a cross-encoder, or the folds of an earlier teaching."""
    from tasks.teach.teaching import ready_teachers

    (teacher,) = ready_teachers(settings)
    return teacher
