"""Training a student on lists of candidates."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.cache import Group, backward
from models.drawing import Draw, Pick
from models.fitting import Descend, Plan, Tick, Trained, Work, fit
from models.lists import Batch, TrainingLists
from models.lora import Lora, adapted
from models.objectives import READS_TEACHER, Scored, Term, mixed
from models.routes import Side
from models.scales import scale_warnings
from models.student import Student
from models.team import ALONE

SAMPLE = 32  # lists whose similarities are looked at before training
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StudentPlan(Plan):
    """How a student is trained.

    Attributes:
        length: Candidates of a list: positives and others.
        positives: Positives of a list at most; each is compared with the others as if it were the only one.
        terms: The objectives.
        in_batch: Contrastive terms take the passages of the whole batch as negatives.
        pick: Others are drawn at random, from the top of the list, or balanced by the teacher's margin.
        pool: Others are drawn from the first so many of the list; 0 draws from all.
        clusters: Topics of queries, one of which a batch is drawn from; 0 mixes them. Whoever makes the lists reads it.
        dimensions: The first numbers of vectors that have to rank as all of them do (Matryoshka, arXiv 2205.13147).
        lora: Small matrices that learn in place of the transformer's weights; None trains every weight.
    """

    length: int = 8
    positives: int = 1
    terms: tuple[Term, ...] = (Term("contrastive"),)
    in_batch: bool = True
    pick: Pick = "random"
    pool: int = 0
    clusters: int = 0
    dimensions: tuple[int, ...] = ()
    lora: Lora | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.in_batch and any(term.symmetric for term in self.terms):
            raise ValueError(
                "a symmetric contrastive term without in-batch negatives compares each passage with one query alone; "
                "its columns would be places in lists, not passages"
            )

    @property
    def reads_teacher(self) -> bool:
        """Whether a term needs the teacher's scores; then lists hold soft candidates too."""
        return any(term.name in READS_TEACHER for term in self.terms)

    @property
    def draw(self) -> Draw:
        """How a batch is drawn."""
        return Draw(self.batch, self.length, self.reads_teacher, self.pick, self.seed, self.positives, self.pool)


def train_student(
    student: Student,
    lists: TrainingLists,
    plan: StudentPlan,
    evaluate: Callable[[Student], float],
    state_dir: Path,
    tick: Tick | None = None,
) -> Trained:
    """Train a student and leave it with its best weights.

    Args:
        student: Holds the starting weights.
        lists: What to draw from.
        plan: How.
        evaluate: The dev measure; higher is better.
        state_dir: The run's own folder, from which a killed run goes on.
        tick: Told how many steps were done.

    Raises:
        ValueError: The lists lack what the objectives need.
        FloatingPointError: A loss, gradient or measure is not a number.
    """
    _refuse_unfit(lists, plan)
    beyond = [dimension for dimension in plan.dimensions if not 0 < dimension < student.dimension]
    if beyond:
        raise ValueError(
            f"dimensions {beyond} are not below the {student.dimension} numbers of the student's vectors; nothing "
            "would be shortened"
        )
    for warning in scale_warnings(plan.terms, lists.targets, some_dots(student, lists, plan)):
        logger.warning(warning)
    work = Work(descent(student, lists, plan), lambda: evaluate(student), lists.batches(plan.draw), lists.digest())
    with adapted(student, plan.lora, plan.seed):
        return fit(student, plan, work, state_dir, tick)


def some_dots(student: Student, lists: TrainingLists, plan: StudentPlan) -> NDArray[np.float32] | None:
    """Dot products of a few lists' queries and candidates, as the student is; None where they are cosines."""
    if student.similarity == "cosine":
        return None
    batch = lists.draw(replace(plan.draw, batch=SAMPLE), 0)
    student.eval()
    with torch.no_grad():
        queries, passages = (
            ALONE.whole([group.run(chunk) for chunk in group.chunks], group.chunks)
            for group in chunked(student, batch, plan.chunk_tokens)
        )
        if all(bool(((side.norm(dim=1) - 1).abs() < 1e-3).all()) for side in (queries, passages)):
            return None
        own, _ = scored(batch, student.scores(queries, passages), in_batch=False)
    return own.student[own.mask].float().cpu().numpy()


def descent(student: Student, lists: TrainingLists, plan: StudentPlan) -> Descend:
    """Make the part of a step that draws a batch and goes forward and backward."""

    def descend(step: int) -> tuple[float, int]:
        batch = lists.draw(plan.draw, step)
        loss_of = partial(batch_loss, student, plan, batch)
        groups = chunked(student, batch, plan.chunk_tokens)
        runtime = student.runtime
        return backward(groups, loss_of, runtime.device, plan.cache, runtime.learning, runtime.team), batch.tokens

    return descend


def batch_loss(student: Student, plan: StudentPlan, batch: Batch, queries: Tensor, passages: Tensor) -> Tensor:
    """Compare the vectors of a batch and compute the mix: the mean over whole and shortened vectors.

    Args:
        student: Says how vectors are compared.
        plan: Terms, and whether the batch's passages are negatives.
        batch: The lists.
        queries: Vectors, (B, d).
        passages: Vectors of the distinct passages, (P, d).
    """
    losses = [
        mixed(plan.terms, *scored(batch, student.scores(queries, passages, dimension), plan.in_batch))
        for dimension in (None, *plan.dimensions)
    ]
    return torch.stack(losses).mean()


def scored(batch: Batch, scores: Tensor, in_batch: bool) -> tuple[Scored, Scored]:
    """Lay a batch's scores out for terms that read the teacher and for contrastive ones.

    Args:
        batch: The lists.
        scores: Similarities of every query with every passage, (B, P).
        in_batch: Contrastive terms see all P passages, except those forbidden; else the lists' own.

    Returns:
        The lists (B, N), and what contrastive terms choose from, (B, P) or (B, N).
    """
    device = scores.device
    columns = torch.from_numpy(batch.columns).to(device)
    student = scores.gather(1, columns)
    teacher, positives, mask, negatives = (
        torch.from_numpy(array).to(device) for array in (batch.targets, batch.positives, batch.mask, batch.negatives)
    )
    own = Scored(student, teacher, positives, mask)
    if not in_batch:
        return own, Scored(student, teacher, positives, negatives | positives)
    wide = torch.zeros_like(scores, dtype=torch.bool)  # (B, P)
    rows, places = positives.nonzero(as_tuple=True)
    wide[rows, columns[rows, places]] = True
    allowed = ~torch.from_numpy(batch.forbidden).to(device) | wide
    return own, Scored(scores, torch.full_like(scores, torch.nan), wide, allowed)


def chunked(student: Student, batch: Batch, budget: int) -> list[Group]:
    """Cut a batch's queries and passages, each for themselves, into chunks of about `budget` tokens.

    Where several processes share the work, there is a chunk for each at least.
    """
    groups, team = [], student.runtime.team
    sides: tuple[tuple[Side, list[Sequence[int]]], ...] = (("query", batch.queries), ("passage", batch.passages))
    for side, tokens in sides:
        run = partial(_embed, student, side, tokens)
        lengths = [len(row) for row in tokens]
        share = min(budget, max(1, -(-sum(lengths) // team.size)))
        groups.append(Group(run, team.enough(student.learning_chunks(lengths, share))))
    return groups


def _embed(student: Student, side: Side, tokens: Sequence[Sequence[int]], numbers: list[int]) -> Tensor:
    return student.embed([tokens[number] for number in numbers], side)


def _refuse_unfit(lists: TrainingLists, plan: StudentPlan) -> None:
    """Say before the first step what the objectives would miss at some later one."""
    names = " + ".join(term.name for term in plan.terms)
    if (plan.reads_teacher or plan.pick == "balanced") and lists.unscored():
        raise ValueError(
            f"{names}, {plan.pick} draws: {lists.unscored()} of {len(lists.targets)} candidates have no teacher score; "
            "a missing score has no stand-in, so score them or leave them out"
        )
    alone = int((lists.candidates(plan.reads_teacher) == 0).sum()) if plan.length > 1 else len(lists)
    if alone and (plan.reads_teacher or not plan.in_batch):
        raise ValueError(
            f"{names}: {alone} of {len(lists)} lists of length {plan.length} offer nothing beside their positive; "
            "there is no margin and no distribution to learn from, so leave these queries out"
        )
