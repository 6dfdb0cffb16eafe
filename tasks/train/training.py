"""Training a student into an artifact: the one way for warm-up, control and rounds."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tasks.artifacts import Artifact, make_resumable
from tasks.evaluate.halves import chosen_by
from tasks.progress import progress
from tasks.refs import StudentRef
from tasks.train.settings import Optimiser
from tasks.where import Where

if TYPE_CHECKING:
    from models.fitting import HistoryRow, Trained
    from models.lists import TrainingLists
    from models.loop import StudentPlan
    from models.student import Student
    from models.team import Team

HISTORY = {
    "step": pl.Int32,
    "epoch": pl.Int32,
    "loss": pl.Float64,
    "measure": pl.Float64,
    "seconds": pl.Float64,
    "tokens": pl.Int64,
}


@dataclass(frozen=True)
class Job:
    """One training of a student.

    Attributes:
        step: The step's verb, with its code version and its settings: what names the artifact.
        code: The step's code version.
        named: Settings as JSON values.
        corpus: Texts and labels.
        start: Weights to train from.
        inputs: Fingerprints of whatever else goes in, by role.
        plan: How to train.
        lists: Makes what is drawn from.
        measure: The dev measure that chooses the checkpoint.
    """

    step: str
    code: int
    named: Mapping[str, Any]
    corpus: Artifact
    start: StudentRef
    inputs: Mapping[str, str]
    plan: "StudentPlan"
    lists: "Callable[[Student], TrainingLists]"
    measure: str

    def settings(self) -> dict[str, Any]:
        """Everything that is set, as JSON values."""
        lora = self.start.lora
        return {**self.named, **({"lora": lora.model_dump(mode="json")} if lora.rank else {})}

    def artifact_inputs(self) -> dict[str, str]:
        """Everything that goes in, by role."""
        return {"corpus": self.corpus.fingerprint, "start": self.start.fingerprint, **self.inputs}


def run_job(where: Where, job: Job) -> Artifact:
    """Train where it is not done yet; a killed training goes on from its last saved state.

    The artifact holds `model/` (a sentence-transformers folder), history.parquet, and approved.npy: the pairs that no
    batch takes for negatives although no list holds them as positives, sorted `query row * passages + passage row`.
    """

    named = {**job.settings(), **chosen_by(job.corpus)}

    def build(folder: Path, state: Path) -> Mapping[str, Any]:
        from models.crew import in_crew
        from models.team import ALONE

        work = partial(_train, where, job, (folder, state))
        with progress(f"{job.step} {job.start.system}", job.plan.steps, "steps") as tick:
            if where.processes == 1:
                return work(ALONE, tick)
            return in_crew(where.processes, where.device, work, tick)

    return make_resumable(where.artifacts_path, job.step, job.code, named, job.artifact_inputs(), build)


def _train(
    where: Where, job: Job, folders: tuple[Path, Path], team: "Team", tick: Callable[[int], None]
) -> dict[str, Any]:
    """Train and write what came out; of several processes that train together, the first one alone writes.

    Returns:
        The artifact's facts.
    """
    from models.fingerprint import fingerprint_folder
    from models.loop import train_student
    from models.runtime import configure
    from models.student import Student
    from tasks.train.dev import dev_measure

    folder, state = folders
    runtime = configure(where.device, where.precision, where.threads, team)
    student = Student.load(job.start.path, runtime, trust_remote_code=job.start.trust_remote_code)
    lists = job.lists(student)
    evaluate = dev_measure(job.corpus, job.measure, where.batch_tokens)
    trained = train_student(student, lists, _adapting(job), evaluate, state, tick)
    if team.rank:
        return {}
    np.save(folder / "approved.npy", lists.approved)
    student.save(folder / "model")
    write_history(folder, trained.history)
    return {
        **training_facts(trained, job.measure),
        "lists": len(lists),
        "approved": len(lists.approved),
        "student": fingerprint_folder(folder / "model"),
        "model": described(student),
        "processes": team.size,
    }


def _adapting(job: Job) -> "StudentPlan":
    """The plan, with the adapters that the student is trained by."""
    from models.lora import Lora

    lora = job.start.lora
    if not lora.rank:
        return job.plan
    return replace(job.plan, lora=Lora(lora.rank, lora.alpha, tuple(lora.target_modules)))


def described(student: "Student") -> dict[str, Any]:
    """What the table `models` says of a student."""
    prompts = {"query": student.query_prompt, "passage": student.passage_prompt}
    return {"similarity": student.similarity, "max_length": student.max_length, "prompts": prompts}


def student_of(artifact: Artifact, system: str, start: StudentRef) -> StudentRef:
    """The student that a training left behind; it runs the code that the one it started from runs."""
    made = {"system": system, "fingerprint": artifact.facts["student"], "path": artifact.file("model")}
    return start.model_copy(update=made)


def plan_options(settings: Optimiser, seed: int) -> dict[str, Any]:
    """The part of a plan that every training has."""
    return {
        "steps": settings.steps,
        "batch": settings.batch,
        "lr": settings.lr,
        "warmup": settings.warmup_share,
        "weight_decay": settings.weight_decay,
        "clip": settings.clip,
        "dropout": settings.dropout,
        "frozen": tuple(settings.frozen),
        "evaluate_every": settings.evaluate_every,
        "patience": settings.patience,
        "seed": seed,
    }


def write_history(folder: Path, rows: "tuple[HistoryRow, ...]") -> None:
    """Write history.parquet: `step, epoch, loss, measure, seconds, tokens`."""
    frame = pl.DataFrame([asdict(row) for row in rows], schema=HISTORY, orient="row")
    frame.write_parquet(folder / "history.parquet", compression="zstd")


def training_facts(trained: "Trained", measure: str) -> dict[str, Any]:
    """What is written down about a training."""
    return {
        "measure": measure,
        "best_step": trained.best_step,
        "best_measure": round(trained.best_measure, 6),
        "steps": trained.steps,
        "unfinished": trained.unfinished,
        "tokens": trained.tokens,
        "training_seconds": round(trained.seconds, 3),
    }
