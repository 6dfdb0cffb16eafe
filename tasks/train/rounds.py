"""Training one round's student on the judged lists."""

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from tasks.artifacts import Artifact
from tasks.train.lesson import Lesson
from tasks.train.settings import Training
from tasks.train.training import Job, plan_options, run_job
from tasks.where import Where

if TYPE_CHECKING:
    from models.lists import TrainingLists
    from models.loop import StudentPlan
    from models.student import Student

VERSION = 3
Start = TypeVar("Start")
log = logging.getLogger("remine.train")


def train_round(where: Where, lesson: Lesson, settings: Training, seed: int, measure: str) -> Artifact:
    """Train on the verdicts of a round.

    Args:
        where: Machine and paths.
        lesson: Corpus, starting weights and verdicts.
        settings: Objectives, lists and schedule.
        seed: Seed of draws and dropout.
        measure: The dev measure that chooses the checkpoint.
    """
    plan = round_plan(settings, seed)
    job = Job(
        step="train",
        code=VERSION,
        named={**settings.model_dump(mode="json", exclude={"start", "chunk_tokens"}), "seed": seed, "measure": measure},
        corpus=lesson.corpus,
        start=lesson.start,
        inputs={
            "judged": lesson.judged.fingerprint,
            **{f"judged {back} earlier": each.fingerprint for back, each in enumerate(lesson.earlier, start=1)},
        },
        plan=plan,
        lists=partial(_lists, lesson, plan),
        measure=measure,
    )
    return run_job(where, job)


def round_plan(settings: Training, seed: int) -> "StudentPlan":
    """Translate settings into the plan of the training loop."""
    from models.loop import StudentPlan
    from models.objectives import Term

    plan = StudentPlan(
        **plan_options(settings, seed),
        length=settings.list_length,
        positives=settings.positives,
        pick=settings.pick,
        pool=settings.pool,
        clusters=settings.clusters,
        terms=tuple(Term(**objective.model_dump()) for objective in settings.objectives),
        in_batch=settings.in_batch,
        dimensions=tuple(settings.dimensions),
    )
    return replace(plan, cache=True, chunk_tokens=settings.chunk_tokens) if settings.chunk_tokens else plan


def _lists(lesson: Lesson, plan: "StudentPlan", student: "Student") -> "TrainingLists":
    """Lists of the round; queries that offer nothing beside their positive are left out where that is needed."""
    from tasks.train.arrays import training_lists

    verdicts, *earlier = (pl.read_parquet(each.file("verdicts.parquet")) for each in (lesson.judged, *lesson.earlier))
    lists = training_lists(lesson.corpus, verdicts, student, earlier)
    if plan.reads_teacher or not plan.in_batch:
        usable = lists.candidates(plan.reads_teacher) > 0
        if not usable.any():
            raise ValueError(
                f"none of {len(lists)} train queries has a candidate left beside its positive, and "
                f"{' + '.join(term.name for term in plan.terms)} learns from nothing else: the verdicts (FROM "
                "scored_candidates) leave no negative; move the thresholds of [denoising], or mine deeper"
            )
        if not usable.all():
            log.warning("%d of %d train queries have no candidate left to learn from", int((~usable).sum()), len(lists))
        lists = lists.select(usable)
    return _by_topic(lesson, plan, student, lists) if plan.clusters else lists


def _by_topic(lesson: Lesson, plan: "StudentPlan", student: "Student", lists: "TrainingLists") -> "TrainingLists":
    """Sort the lists' queries into clusters, as the student sees them before it is trained."""
    from models.clusters import query_clusters
    from tasks.train.arrays import Texts

    texts = Texts.read(lesson.corpus).queries["text"].gather(lists.queries).to_list()
    return replace(lists, clusters=query_clusters(student.encode_queries(texts).vectors, plan.clusters, plan.seed))


def start_of(settings: Training, base: Start, warm: Start, last: Start) -> Start:
    """Which weights a round trains from."""
    return {"base": base, "warm": warm, "last": last}[settings.start]
