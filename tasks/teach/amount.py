"""How much teaching a teacher will compute, and how often a taught one reads a pair."""

from dataclasses import dataclass

import polars as pl

from tasks.evaluate.halves import select
from tasks.evaluate.measures import judged_queries
from tasks.teach.settings import Teach
from tasks.teach.teaching import teacher_plans


@dataclass(frozen=True)
class Taught:
    """What the step `teach` will compute, over all folds.

    Attributes:
        pointwise: Optimiser steps of the first phase.
        listwise: Optimiser steps of the second.
        looked_pairs: Pairs scored by the looks at dev.
    """

    pointwise: int
    listwise: int
    looked_pairs: int


def taught_amount(labels: pl.DataFrame, passages: int, settings: Teach, rerank_depth: int) -> Taught:
    """Count steps and scored dev pairs.

    Args:
        labels: `query_hash, passage_hash, grade, split`.
        passages: Distinct passages of the corpus.
        settings: Folds, phases, looks.
        rerank_depth: Passages that a look re-ranks for each dev query.
    """
    plans = teacher_plans(settings, 0)
    steps = {name: settings.folds * sum(plan.steps for plan in plans if plan.loss == name) for name in LOSSES}
    queries = min(settings.dev_queries, select(judged_queries(labels, "dev"))["query_hash"].n_unique())
    looks = settings.folds * sum(plan.looks for plan in plans)
    return Taught(steps["pointwise"], steps["listwise"], looks * queries * min(rerank_depth, passages))


LOSSES = ("pointwise", "listwise")


def readers(folds: int, taught_on: bool) -> int:
    """How many folds read a pair: of a query whose labels were taught from, the one that has not seen them.

    Args:
        folds: Teachers of a cross-fitted one; 0 for a ready teacher.
        taught_on: Whether it is about the train queries.
    """
    if not folds:
        return 1
    return 1 if taught_on else folds
