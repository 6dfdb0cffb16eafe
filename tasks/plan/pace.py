"""How fast this machine is: some seconds of the real work, with the recipe's own models and texts."""

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tasks.baseline.settings import StudentSettings
from tasks.plan.data import Data
from tasks.plan.line import Pace, Unit
from tasks.plan.sample import Sample
from tasks.progress import progress
from tasks.refs import TeacherRef
from tasks.teach.settings import Teach
from tasks.train.settings import Training
from tasks.warmup.settings import Warmup
from tasks.where import Where

if TYPE_CHECKING:
    from models.loop import StudentPlan
    from models.runtime import Runtime
    from models.student import Student
    from models.teacher import Teacher

BUDGET: dict[Unit, float] = {
    "passage": 1.2,
    "query": 0.6,
    "reading": 1.8,
    "warmup step": 1.8,
    "training step": 1.8,
    "pointwise step": 1.8,
    "listwise step": 0.8,
}
LISTS = 256  # train queries to draw batches from
SEARCHED = 50_000  # passages
RANKED = 64  # queries
BM25 = (2000, 32)  # passages, queries


@dataclass(frozen=True)
class Course:
    """What is tried.

    Attributes:
        student: The student as it comes.
        teachers: Who scores, as far as they are there: one, the members of an ensemble, or none.
        warmup: How the student is warmed up.
        teach: How a teacher is taught.
        training: How the student is trained.
        depth: Passages ranked for each query of an evaluation.
    """

    student: StudentSettings
    teachers: Sequence[TeacherRef]
    warmup: Warmup
    teach: Teach
    training: Training
    depth: int


def measure_pace(where: Where, data: Data, course: Course, units: Collection[Unit]) -> Pace:
    """Try what a plan needs, for ten seconds at most beside the loading of models; nothing is written.

    Args:
        where: Device, precision and threads, as the run will have them.
        data: The corpus; some of its texts are tried on.
        course: Models and settings.
        units: What has to be timed.

    Raises:
        ModelNotFound: The student or the teacher is not to be had.
    """
    started, busy = time.monotonic(), load_average()
    from models.runtime import configure

    trial = _Trial(where, data, course, configure(where.device, where.precision, where.threads), started)
    seconds: dict[Unit, float] = {"second": 1.0}
    ways = trial.ways()
    with progress("calibrate", len(units), "measurements") as tick:
        for unit in (unit for unit in ways if unit in units):
            seconds[unit] = ways[unit]()
            tick(1)
    runtime = trial.runtime
    return Pace(
        device=runtime.device,
        precision=runtime.precision,
        threads=runtime.threads,
        seconds=seconds,
        encoded_tokens=trial.speeds.get("passage"),
        scored_tokens=trial.speeds.get("reading"),
        scored_by=trial.scored_by if "reading" in units else "",
        busy=busy,
        took=time.monotonic() - started,
    )


def load_average() -> float:
    """Processes that wanted the processor over the last minute; 0 where the system does not tell."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


class _Trial:
    """One trial: models are loaded once, and inference is timed before training moves the weights."""

    def __init__(self, where: Where, data: Data, course: Course, runtime: "Runtime", started: float) -> None:
        self.where, self.data, self.course, self.runtime, self.started = where, data, course, runtime, started
        self.speeds: dict[Unit, float] = {}

    def ways(self) -> Mapping[Unit, Callable[[], float]]:
        """How each unit is timed, in this order."""
        return {
            "start": self._start,
            "load": self._load,
            "passage": lambda: self._items(
                "passage", lambda texts: self.student.encode_passages(texts, self.where.batch_tokens).n_tokens
            ),
            "query": lambda: self._items(
                "query", lambda texts: self.student.encode_queries(texts, self.where.batch_tokens).n_tokens
            ),
            "reading": self._reading,
            "warmup step": self._warmup,
            "training step": self._training,
            "pointwise step": lambda: self._teaching("pointwise"),
            "listwise step": lambda: self._teaching("listwise"),
            "ranking": self._ranking,
            "bm25 ranking": self._bm25,
        }

    @cached_property
    def sample(self) -> Sample:
        batches = (self.course.warmup.batch, self.course.teach.batch, self.course.training.batch)
        longest = max(self.course.training.list_length, self.course.teach.negatives)
        return Sample.draw(self.data, max(LISTS, *batches), 2 * longest)

    @cached_property
    def path(self) -> Path:
        from models.locate import locate

        return locate(self.course.student.model)

    @cached_property
    def student(self) -> "Student":
        from tasks.baseline.systems import load_base

        return load_base(self.course.student, self.path, self.runtime)

    def _backbone(self) -> "Teacher":
        """The student's backbone with a new head, where a teacher is yet to be taught."""
        from models.teacher import Teacher

        return Teacher.from_encoder(self.path, self.runtime, 0, self.course.student.max_length)

    def _load_teacher(self, found: TeacherRef) -> "Teacher":
        from models.teacher import Teacher

        if (found.path / "teacher.json").exists():
            return Teacher.load(found.path / "folds" / "0", self.runtime)
        return Teacher.load(found.path, self.runtime, found.max_length or None, found.trust_remote_code)

    @property
    def scored_by(self) -> str:
        """Whose speed it is."""
        names = [each.name for each in self.course.teachers]
        return " + ".join(names) or "the student's backbone, as no teacher is there yet"

    def _start(self) -> float:
        """The first load of a model brings the libraries along."""
        assert self.student.runtime is self.runtime
        return time.monotonic() - self.started

    def _load(self) -> float:
        """What every other load costs."""
        from models.student import Student

        started = time.monotonic()
        Student.load(self.path, self.runtime)
        return time.monotonic() - started

    def _items(self, unit: Unit, work: Callable[[list[str]], int]) -> float:
        from models.trial import item_seconds

        texts = self.sample.passages if unit == "passage" else self.sample.queries
        seconds, tokens = item_seconds(work, texts, BUDGET[unit])
        self.speeds[unit] = tokens / seconds
        return seconds

    def _reading(self) -> float:
        """A reading by the mean of those who score: each member of an ensemble reads every pair."""
        loads: list[Callable[[], Teacher]] = [partial(self._load_teacher, each) for each in self.course.teachers]
        loads = loads or [self._backbone]
        found = [self._timed(load(), BUDGET["reading"] / len(loads)) for load in loads]
        self.speeds["reading"] = sum(tokens for _, tokens in found) / sum(seconds for seconds, _ in found)
        return sum(seconds for seconds, _ in found) / len(found)

    def _timed(self, teacher: "Teacher", budget: float) -> tuple[float, float]:
        from models.trial import item_seconds

        def work(pairs: list[tuple[str, str]]) -> int:
            return int(teacher.score(pairs, self.where.batch_tokens).n_tokens.sum())

        return item_seconds(work, self.sample.pairs, budget)

    def _warmup(self) -> float:
        from tasks.warmup.warming import warm_plan

        return self._student_step(warm_plan(self.course.warmup, 0), "warmup step")

    def _training(self) -> float:
        from tasks.train.rounds import round_plan

        return self._student_step(round_plan(self.course.training, 0), "training step")

    def _student_step(self, plan: "StudentPlan", unit: Unit) -> float:
        from models.loop import descent
        from models.trial import step_seconds

        lists = self.sample.training_lists(self.student)
        return step_seconds(self.student, plan, lambda some: descent(self.student, lists, some), BUDGET[unit])

    def _teaching(self, loss: str) -> float:
        from models.teacher import Teacher
        from models.teaching import descent
        from models.trial import step_seconds
        from tasks.teach.teaching import teacher_plans

        teacher = Teacher.from_encoder(self.path, self.runtime, 0, self.course.student.max_length)
        lists = self.sample.teaching_lists()
        plan = next(plan for plan in teacher_plans(self.course.teach, 0) if plan.loss == loss)
        unit: Unit = "pointwise step" if loss == "pointwise" else "listwise step"
        return step_seconds(teacher, plan, lambda some: descent(teacher, lists, some), BUDGET[unit])

    def _ranking(self) -> float:
        """Search and measure one query of an evaluation, on vectors of noise."""
        from tasks.evaluate.measures import measure_queries
        from tasks.mine.search import top_k

        count, dimension = self.data.passages.height, self.student.dimension
        drawing = np.random.default_rng(0)
        vectors = drawing.standard_normal((min(count, SEARCHED) + RANKED, dimension), np.float32)
        started = time.monotonic()
        _, rows = top_k(vectors[:RANKED], vectors[RANKED:], self.course.depth)
        searching = (time.monotonic() - started) * max(1.0, count / SEARCHED)
        started = time.monotonic()
        names = np.repeat(np.arange(RANKED), rows.shape[1])
        ranks = np.tile(np.arange(1, rows.shape[1] + 1, dtype=np.int32), RANKED)
        ranking = pl.DataFrame({"query_hash": names, "passage_hash": rows.ravel(), "rank": ranks})
        judged = ranking.filter(pl.col("rank") == 1).select("query_hash", "passage_hash", grade=pl.lit(1))
        measure_queries(judged, ranking)
        return (searching + time.monotonic() - started) / RANKED

    def _bm25(self) -> float:
        from tasks.baseline.bm25 import search_bm25

        passages, queries = self.data.passages.head(BM25[0]), self.data.queries.head(BM25[1])
        started = time.monotonic()
        search_bm25(passages, queries, self.course.depth, lambda count: None)
        return (time.monotonic() - started) * self.data.passages.height / passages.height / queries.height
