"""Training a teacher: a cross-encoder that learns from labels, against random and hard negatives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from models.cache import Group, backward
from models.drawing import Rows
from models.fitting import Descend, Plan, Tick, Trained, Work, fit
from models.lists import Flags
from models.objectives import contrastive
from models.pairs import Prepared
from models.teacher import Teacher

Loss = Literal["pointwise", "listwise"]


@dataclass(frozen=True)
class TeacherPlan(Plan):
    """One phase of a teacher's training.

    Attributes:
        loss: "pointwise": is this pair relevant (binary cross-entropy)? Gives logits an absolute scale.
            "listwise": which of the list is the positive (softmax cross-entropy)? Gives an order alone.
        length: Pairs of a list: one positive and negatives.
        random_share: Share of the negatives that are drawn from the whole corpus; the others are hard.
    """

    loss: Loss = "pointwise"
    batch: int = 16
    length: int = 5
    random_share: float = 0.75

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch < 1 or self.length < 2 or not 0 <= self.random_share <= 1:
            raise ValueError(
                "a teacher learns from lists of a positive and negatives, of which a share from 0 to 1 is random; "
                f"got batch={self.batch}, length={self.length}, random_share={self.random_share}"
            )


class Lists(Protocol):
    """What a teacher's training draws from."""

    def __len__(self) -> int: ...
    def digest(self) -> str:
        """Name the contents."""

    def batches(self, plan: TeacherPlan) -> int:
        """Batches of an epoch."""

    def draw(self, plan: TeacherPlan, step: int) -> "TeachingBatch":
        """Draw the batch of a step."""

    @property
    def without_hard(self) -> int:
        """How many queries have no hard negative."""


@dataclass(frozen=True)
class TeachingLists:
    """Labelled queries and what may be shown beside their positives.

    Attributes:
        queries: Texts, L of them.
        passages: Texts of the whole corpus, by passage row.
        positives: Passage rows of each query's positives, at least one.
        hard: Passage rows of each query's hard negatives (no positives among them); may be empty.
        barred: Passage rows of each query that are right as well and not learnt from: never drawn at random. Empty
            where there are none of any query.
    """

    queries: Sequence[str]
    passages: Sequence[str]
    positives: Sequence[Rows]
    hard: Sequence[Rows]
    barred: Sequence[Rows] = ()

    def __post_init__(self) -> None:
        if not len(self.queries) == len(self.positives) == len(self.hard):
            raise ValueError(
                f"{len(self.queries)} queries, {len(self.positives)} lists of positives and {len(self.hard)} of hard "
                "negatives don't belong together; labels would go to other queries"
            )
        for query, positives, hard in zip(self.queries, self.positives, self.hard, strict=True):
            if not len(positives):
                raise ValueError(f"query {query!r} has no positive; leave it out")
            if len(np.intersect1d(positives, hard)):
                raise ValueError(f"query {query!r} has a positive among its hard negatives; it would be taught wrong")

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def without_hard(self) -> int:
        """How many queries have no hard negative."""
        return sum(not len(rows) for rows in self.hard)

    def digest(self) -> str:
        """Name the contents."""
        hasher = blake2b(digest_size=16)
        for texts in (self.queries, self.passages):
            for text in texts:
                encoded = text.encode("utf-8")
                hasher.update(len(encoded).to_bytes(8, "little") + encoded)
        for rows in (*self.positives, *self.hard, *self.barred):
            hasher.update(len(rows).to_bytes(8, "little") + np.asarray(rows, dtype=np.int64).tobytes())
        return hasher.hexdigest()

    def draw(self, plan: TeacherPlan, step: int) -> "TeachingBatch":
        """Draw the batch of a step (counted from 0): a function of the seed and the step alone."""
        epoch, place = divmod(step, self.batches(plan))
        order = np.random.default_rng([plan.seed, 0, epoch]).permutation(len(self))
        lists = order[place * plan.batch : (place + 1) * plan.batch]
        generator = np.random.default_rng([plan.seed, 1, step])
        rows = [self._pick(int(number), plan, generator) for number in lists]
        pairs = [
            (self.queries[number], self.passages[row])
            for number, picked in zip(lists, rows, strict=True)
            for row in picked
        ]
        return TeachingBatch(pairs, np.arange(plan.length) < np.asarray([len(picked) for picked in rows])[:, None])

    def batches(self, plan: TeacherPlan) -> int:
        """Batches of an epoch."""
        return max(1, len(self) // plan.batch)

    def _pick(self, number: int, plan: TeacherPlan, generator: np.random.Generator) -> Rows:
        """Rows of one positive and up to `length - 1` distinct negatives; where hard ones lack, there are fewer."""
        positives, hard = self.positives[number], self.hard[number]
        wanted = int(generator.binomial(plan.length - 1, plan.random_share))
        picked = generator.choice(hard, min(plan.length - 1 - wanted, len(hard)), replace=False)
        barred = self.barred[number] if self.barred else positives[:0]
        taken = np.concatenate([positives, barred, picked])
        free = len(self.passages) - len(taken)
        # enough draws that `wanted` are left when those taken are struck out
        some = generator.choice(len(self.passages), min(wanted, free) + len(taken), replace=False, shuffle=True)
        others = some[~np.isin(some, taken)][: min(wanted, free)]
        return np.concatenate([[generator.choice(positives)], picked, others]).astype(np.int64)


@dataclass(frozen=True)
class TeachingBatch:
    """Pairs of B lists, list by list; the first of each is its positive.

    Attributes:
        pairs: (query, passage) texts, as many as the mask is true.
        mask: True where a list has a pair, (B, N).
    """

    pairs: list[tuple[str, str]]
    mask: Flags

    @property
    def labels(self) -> Tensor:
        """1 for positives, 0 for negatives, one per pair."""
        labels = np.zeros(self.mask.shape, dtype=np.float32)
        labels[:, 0] = 1
        return torch.from_numpy(labels[self.mask])


@dataclass(frozen=True)
class Taught:
    """How a teacher's training ended, phase by phase; the teacher holds the best weights.

    Attributes:
        phases: One per plan.
        listwise: The weights come out of a list-wise phase: their logits have no absolute scale.
    """

    phases: tuple[Trained, ...]
    listwise: bool


def train_teacher(
    teacher: Teacher,
    lists: Lists,
    plans: Sequence[TeacherPlan],
    evaluate: Callable[[Teacher], float],
    state_dir: Path,
    tick: Tick | None = None,
) -> Taught:
    """Train a teacher through phases, each from the best of the one before.

    Args:
        teacher: Holds the starting weights.
        lists: Labelled queries; what it is to judge later without having seen it is not among them.
        plans: The phases: point-wise, then list-wise if wanted.
        evaluate: The dev measure of its re-ranking; higher is better.
        state_dir: The run's own folder, from which a killed run goes on.
        tick: Told how many steps were done, over all phases.

    Raises:
        ValueError: No query, no phase, or hard negatives wanted and none there.
        FloatingPointError: A loss, gradient or measure is not a number.
    """
    _refuse_unfit(lists, plans)
    phases, listwise, data = [], False, lists.digest()
    for number, plan in enumerate(plans):
        work = Work(descent(teacher, lists, plan), lambda: evaluate(teacher), lists.batches(plan), data)
        trained = fit(teacher, plan, work, state_dir / f"phase-{number}", tick)
        phases.append(trained)
        listwise = plan.loss == "listwise" if trained.best_step else listwise
    return Taught(tuple(phases), listwise)


def descent(teacher: Teacher, lists: Lists, plan: TeacherPlan) -> Descend:
    """Make the part of a step that draws a batch and goes forward and backward."""

    def descend(step: int) -> tuple[float, int]:
        batch = lists.draw(plan, step)
        prepared = teacher.pairs.prepare(batch.pairs)
        chunks = teacher.learning_chunks(prepared.lengths.tolist(), plan.chunk_tokens)
        if plan.loss == "pointwise":
            loss = _pointwise(teacher, batch, prepared, chunks)
        else:
            loss = _listwise(
                teacher, batch, Group(lambda some: teacher.forward(prepared.inputs(some)), chunks), plan.cache
            )
        return loss, int(prepared.lengths.sum())

    return descend


def _pointwise(teacher: Teacher, batch: TeachingBatch, prepared: Prepared, chunks: list[list[int]]) -> float:
    """Binary cross-entropy, mean over pairs; every chunk's graph is freed before the next."""
    total = 0.0
    for chunk in chunks:
        logits = teacher.forward(prepared.inputs(chunk))
        labels = batch.labels[chunk].to(logits.device)
        loss = functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum") / len(batch.pairs)
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    return total


def _listwise(teacher: Teacher, batch: TeachingBatch, group: Group, cache: bool) -> float:
    """Softmax cross-entropy of each list's positive, mean over lists."""

    def loss_of(logits: Tensor) -> Tensor:
        mask = torch.from_numpy(batch.mask).to(logits.device)
        scores = torch.zeros(mask.shape, device=logits.device).masked_scatter(mask, logits)  # (B, N)
        positives = torch.zeros_like(mask)
        positives[:, 0] = True
        return contrastive(scores, scores, positives, mask, tau=1.0)

    return backward([group], loss_of, teacher.runtime.device, cached=cache)


def _refuse_unfit(lists: Lists, plans: Sequence[TeacherPlan]) -> None:
    if not len(lists) or not plans:
        raise ValueError(f"a teacher needs a labelled query and a phase, got {len(lists)} and {len(plans)}")
    if lists.without_hard == len(lists) and any(plan.random_share < 1 for plan in plans):
        raise ValueError(
            f"hard negatives are wanted (random_share below 1), and no query has one among what was mined for "
            f"{len(lists)}: mine more queries (a small budget mines few) or deeper, or take random_share = 1"
        )
