"""The step `train`."""

from tasks.record import record, warehouse_of
from tasks.refs import Artifact, Run, StudentRef
from tasks.step import step
from tasks.train.lesson import Lesson
from tasks.train.settings import Training


@step("train")
def train(run: Run, number: int, lesson: Lesson, settings: Training, seed: int, measure: str) -> StudentRef:
    """Train the student of a round on its judged lists."""
    from tasks.train.rounds import train_round
    from tasks.train.training import student_of

    artifact = train_round(run.where, lesson, settings, seed + number, measure)
    student = student_of(artifact, f"round-{number}", lesson.start)
    enter_training(run, number, artifact, student)
    return student


def enter_training(run: Run, number: int, artifact: Artifact, student: StudentRef) -> None:
    """Enter a training, its history and its student into the warehouse."""
    from warehouse.load import load_history, register_model

    warehouse = warehouse_of(run.where)
    key = record(run, artifact, number)
    name = f"{artifact.fingerprint}/history.parquet"
    load_history(warehouse, run.id, key, artifact.file("history.parquet"), name)
    facts = {**artifact.facts["model"], "path": str(student.path)}
    register_model(warehouse, "student", student.system, student.fingerprint, facts)
