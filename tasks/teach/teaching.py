"""Training the cross-fitted teachers, or finding a ready one."""

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.artifacts import Artifact, make_resumable
from tasks.evaluate.halves import chosen_by
from tasks.identity import fingerprint
from tasks.progress import progress
from tasks.refs import StudentRef, TeacherRef
from tasks.settings import Settings
from tasks.teach.settings import Phases, Teach, TeacherSettings
from tasks.where import Where

if TYPE_CHECKING:
    import polars as pl

    from models.runtime import Runtime
    from models.teacher import Teacher
    from models.teaching import Taught, TeacherPlan

VERSION = 4
log = logging.getLogger("remine.teach")


class Lectern(Settings):
    """What a teacher starts from: the warm student, what it mined, and what it ranked on dev."""

    corpus: Artifact
    warm: StudentRef
    mined: Artifact
    ranked: Artifact


def teach_folds(where: Where, lectern: Lectern, settings: Teach, seed: int, measure: str) -> Artifact:
    """Train one teacher per fold, none of which sees the labels of the queries that it will judge.

    The artifact holds `folds/0`, `folds/1` … (CrossEncoder folders), seen.parquet (`query_hash, fold`: whose
    labels a fold's teacher was trained on) and teacher.json.

    Args:
        where: Machine and paths.
        lectern: Corpus, warm student, its candidates and its dev ranking.
        settings: Folds, phases, negatives, schedule.
        seed: Seed of the new head, draws and dropout.
        measure: The dev measure that chooses checkpoints.
    """
    named = {**settings.model_dump(mode="json"), "seed": seed, "measure": measure, **chosen_by(lectern.corpus)}
    inputs = {
        "corpus": lectern.corpus.fingerprint,
        "warm": lectern.warm.fingerprint,
        "mined": lectern.mined.fingerprint,
        "ranked": lectern.ranked.fingerprint,
        **_started(settings.start),
    }
    course = _Course(where, lectern, settings, seed, measure)
    return make_resumable(where.artifacts_path, "teach", VERSION, named, inputs, course.teach)


def _started(start: str) -> dict[str, str]:
    """What a cross-encoder that learns on is; the warm student is told of in any case."""
    if start == "warm":
        return {}
    from models.fingerprint import fingerprint_folder
    from models.locate import locate

    return {"start": fingerprint_folder(locate(start))}


def taught_teacher(artifact: Artifact) -> TeacherRef:
    """The cross-fitted teacher that a teaching left behind."""
    facts = artifact.facts
    return TeacherRef(fingerprint=facts["teacher"], path=artifact.path, name="taught", listwise=facts["listwise"])


def ready_teachers(settings: TeacherSettings) -> list[TeacherRef]:
    """Find the cross-encoders that the recipe names, or the cross-fitted folds that an earlier teaching left.

    Raises:
        ModelNotFound: There is none under a name.
        ValueError: A maximum length is asked of folds, which keep the one they were taught with, or a folder is that
            of an ensemble.
    """
    return [_ready_teacher(name, settings) for name in settings.model]


def _ready_teacher(name: str, settings: TeacherSettings) -> TeacherRef:
    from models.fingerprint import fingerprint_folder
    from models.locate import locate

    path = locate(name, settings.trust_remote_code)
    if (path / "teacher.json").exists():
        return _folded_teacher(name, path, settings.max_length)
    own = fingerprint_folder(path)
    return TeacherRef(
        fingerprint=fingerprint(own, settings.max_length) if settings.max_length else own,
        path=path,
        name=name,
        max_length=settings.max_length,
        trust_remote_code=settings.trust_remote_code,
    )


def _folded_teacher(name: str, path: Path, max_length: int) -> TeacherRef:
    import polars as pl

    from models.fingerprint import fingerprint_folder

    told = json.loads((path / "teacher.json").read_text("utf-8"))
    if "folds" not in told:
        raise ValueError(f"{path}: this is an ensemble, whose scales belong to the run that made it; name its members")
    if max_length:
        raise ValueError(
            f"{path}: max_length {max_length} was asked of taught folds; they read as many tokens as they "
            "were taught with, and other lengths would make other scores under the same name"
        )
    folds = [fingerprint_folder(path / "folds" / str(number)) for number in range(int(told["folds"]))]
    print_ = _taught_fingerprint(folds, pl.read_parquet(path / told["seen"]))
    return TeacherRef(fingerprint=print_, path=path, name=name, listwise=told["listwise"])


def _taught_fingerprint(folds: list[str], seen: "pl.DataFrame") -> str:
    """Name cross-fitted teachers by their models and by who has seen which labels."""
    return fingerprint(folds, sorted(seen.iter_rows()))


def teacher_plans(settings: Phases, seed: int) -> "list[TeacherPlan]":
    """The phases of a teaching: point-wise, then list-wise where it is asked for."""
    from models.teaching import TeacherPlan

    common: dict[str, Any] = {
        "warmup": settings.warmup_share,
        "batch": settings.batch,
        "dropout": settings.dropout,
        "frozen": tuple(settings.frozen),
        "length": 1 + settings.negatives,
        "evaluate_every": settings.evaluate_every,
        "seed": seed,
    }
    plans = [
        TeacherPlan(settings.steps, lr=settings.lr, loss="pointwise", random_share=settings.random_share, **common)
    ]
    if settings.listwise_steps:
        share = settings.listwise_random_share
        plans.append(
            TeacherPlan(settings.listwise_steps, lr=settings.lr / 2, loss="listwise", random_share=share, **common)
        )
    return plans


@dataclass(frozen=True)
class _Course:
    """A whole teaching: where, from what and how."""

    where: Where
    lectern: Lectern
    settings: Teach
    seed: int
    measure: str

    def teach(self, folder: Path, state: Path) -> dict[str, Any]:
        """Train every fold's teacher into a folder, by way of unfinished states; returns what is written down."""
        import polars as pl

        from models.runtime import configure
        from tasks.teach.labels import seen_queries

        runtime = configure(self.where.device, self.where.precision, self.where.threads)
        seen = seen_queries(self.lectern.corpus, self.settings.folds)
        seen.write_parquet(folder / "seen.parquet", compression="zstd")
        facts = []
        for number in range(self.settings.folds):
            queries = seen.filter(pl.col("fold") == number)["query_hash"]
            paths = (folder / "folds" / str(number), state / f"fold-{number}")
            facts.append(self._teach_fold(runtime, number, queries, paths))
        listwise = any(fact["listwise"] for fact in facts)
        about = {"folds": self.settings.folds, "listwise": listwise, "seen": "seen.parquet"}
        (folder / "teacher.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
        print_ = _taught_fingerprint([fact["teacher"] for fact in facts], seen)
        return {"teacher": print_, "listwise": listwise, "folds": facts}

    def _teach_fold(
        self, runtime: "Runtime", number: int, queries: "pl.Series", paths: tuple[Path, Path]
    ) -> dict[str, Any]:
        from models.fingerprint import fingerprint_folder
        from models.teaching import train_teacher
        from tasks.teach.labels import Material
        from tasks.teach.reranking import rerank_measure

        settings, lectern, (path, state) = self.settings, self.lectern, paths
        lists = Material.read(lectern.corpus, lectern.mined).lists(queries)
        evaluate = rerank_measure(
            lectern.corpus, lectern.ranked, self.measure, settings.dev_queries, self.where.batch_tokens
        )
        teacher = self._first(runtime, self.seed + number)
        plans = teacher_plans(settings, self.seed + number)
        steps = sum(plan.steps for plan in plans)
        with progress(f"teach fold {number + 1} of {settings.folds}", steps, "steps") as tick:
            taught = train_teacher(teacher, lists, plans, evaluate, state, tick)
        teacher.save(path)
        return {"teacher": fingerprint_folder(path), "queries": len(lists), **told(taught)}

    def _first(self, runtime: "Runtime", seed: int) -> "Teacher":
        """The teacher before its first step."""
        from models.locate import locate
        from models.teacher import Teacher

        if self.settings.start == "warm":
            return Teacher.from_encoder(self.lectern.warm.path, runtime, seed)
        return Teacher.load(locate(self.settings.start), runtime)


def told(taught: "Taught") -> dict[str, Any]:
    """What is written down of a training."""
    return {
        "listwise": taught.listwise,
        "best_steps": [phase.best_step for phase in taught.phases],
        "best_measures": [round(phase.best_measure, 6) for phase in taught.phases],
        "tokens": sum(phase.tokens for phase in taught.phases),
        "training_seconds": round(sum(phase.seconds for phase in taught.phases), 3),
        "unfinished": taught.phases[-1].unfinished,
    }
