"""How the lists of a batch and the candidates of a list are drawn."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
Pick = Literal["random", "top", "balanced"]

BINS = 10  # TAS-B


@dataclass(frozen=True)
class Draw:
    """How a batch is drawn.

    Attributes:
        batch: Lists, one per query; fewer where there are fewer queries.
        length: Candidates of a list: positives and others, fewer where there are fewer.
        soft: Others are drawn from soft candidates too, for terms that read the teacher.
        pick: Of the others "random" ones, "top": the first in the stored order, or "balanced": easy and hard ones
            alike, by the teacher's margin.
        seed: Where the draws start.
        positives: Positives of a list at most.
        pool: Others are drawn from the first so many in the stored order; 0 draws from all.
    """

    batch: int
    length: int
    soft: bool = False
    pick: Pick = "random"
    seed: int = 0
    positives: int = 1
    pool: int = 0

    def __post_init__(self) -> None:
        if self.batch < 1 or self.length < 1:
            raise ValueError(f"a batch needs at least one list of one candidate, got {self.batch} × {self.length}")
        if not 1 <= self.positives <= self.length:
            raise ValueError(f"a list of {self.length} candidates cannot hold {self.positives} positives")
        if self.pool < 0:
            raise ValueError(f"a pool of {self.pool} candidates is none; 0 draws from all")


def shuffled(count: int, batch: int, clusters: Rows, generator: np.random.Generator) -> Rows:
    """Order the lists of an epoch, which batches are then cut from.

    Args:
        count: Lists, L.
        batch: Lists of a batch.
        clusters: The cluster of each, (L,): as many batches as can be hold one cluster each, what is left over is
            mixed (TAS-B's topic-aware batches, arXiv 2104.06967). Empty: lists are mixed at random.
        generator: Draws.
    """
    order: Rows = generator.permutation(count)
    if not len(clusters):
        return order
    order = order[np.argsort(clusters[order], kind="stable")]
    topics = np.split(order, np.cumsum(np.unique(clusters, return_counts=True)[1])[:-1])
    whole = [topic[: len(topic) // batch * batch] for topic in topics]
    rest = generator.permutation(np.concatenate([topic[len(topic) // batch * batch :] for topic in topics]))
    fits = len(rest) // batch * batch
    batches = np.concatenate([*whole, rest[:fits]]).reshape(-1, batch)
    generator.shuffle(batches)
    return np.concatenate([batches.ravel(), rest[fits:]])


def choose(
    draw: Draw, positives: Rows, others: Rows, logits: Floats, generator: np.random.Generator
) -> tuple[Rows, Rows]:
    """Choose the positives and the others of one list.

    Args:
        draw: How many, and which.
        positives: Places of the list's positives; at least one.
        others: Places of what may be beside them, in rank order.
        logits: The teacher's logits by place; read where the pick is balanced.
        generator: Draws.
    """
    anchor = generator.choice(positives)
    further = generator.choice(
        positives[positives != anchor], min(draw.positives, len(positives)) - 1, replace=False, shuffle=False
    )
    held = np.concatenate([[anchor], further]).astype(np.int64)
    others = others[: draw.pool] if draw.pool else others
    most = min(draw.length - len(held), len(others))
    if draw.pick == "top":
        return held, others[:most]
    shares = balanced_shares(logits[anchor] - logits[others]) if draw.pick == "balanced" and most else None
    return held, generator.choice(others, most, replace=False, p=shares)


def balanced_shares(margins: Floats) -> NDArray[np.float64]:
    """Give each of ten equal-width bins of margins the same chance, and each margin its share of its bin's.

    So a query's few hard negatives are seen as often as its many easy ones (TAS-B, arXiv 2104.06967).

    Args:
        margins: Positive minus other, in the teacher's logits, (n,), n >= 1.

    Raises:
        ValueError: A margin is not known.
    """
    if not np.isfinite(margins).all():
        raise ValueError(
            f"balanced draws need the teacher's score of every candidate, and {int((~np.isfinite(margins)).sum())} of "
            f"{len(margins)} margins of a list are unknown; drawn by a stand-in, the balance would be made up"
        )
    low, high = float(margins.min()), float(margins.max())
    edges = np.linspace(low, high, BINS + 1)[1:-1]
    bins = np.searchsorted(edges, margins, side="right")
    counts = np.bincount(bins, minlength=BINS)
    return 1.0 / (np.count_nonzero(counts) * counts[bins])
