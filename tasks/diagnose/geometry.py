"""How vectors lie in their space: closeness of positives, spread, direction, dimensions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]

PAIRS = 20_000  # random pairs looked at
SAMPLE = 5_000  # vectors whose dimensions are looked at
VARIANCE = 0.95


@dataclass(frozen=True)
class Geometry:
    """How a student's vectors lie.

    Attributes:
        alignment: Mean squared distance of labelled pairs, 0 to 4 on unit vectors (Wang & Isola 2020,
            arXiv 2005.10242).
        unaligned: The same of queries with random passages.
        uniformity: log of the mean of exp(-2 d²) over random pairs of passages, at most 0 (same paper).
        cosine: Mean cosine of random pairs of passages.
        low: Its 5th percentile.
        high: Its 95th percentile.
        components: Principal components that hold 95 % of the variance of passages.
        effective_rank: exp of the entropy of the variances' shares (after Roy & Vetterli 2007).
        dimensions: How many there can be: the vectors' length, or one less than their number.
    """

    alignment: float
    unaligned: float
    uniformity: float
    cosine: float
    low: float
    high: float
    components: int
    effective_rank: float
    dimensions: int


def geometry(passages: Vectors, queries: Vectors, positives: NDArray[np.int64], seed: int = 0) -> Geometry:
    """Measure how vectors lie.

    Args:
        passages: (P, d), P at least 2.
        queries: (Q, d).
        positives: Rows of labelled pairs, (n, 2): query, passage; n at least 1.
        seed: Seed of the random pairs and of the sample.

    Raises:
        ValueError: There are fewer than two passages, or no labelled pair.
    """
    if len(passages) < 2 or not len(positives):
        raise ValueError(f"{len(passages)} passages and {len(positives)} labelled pairs: there is nothing to measure")
    rng = np.random.default_rng(seed)
    first = rng.integers(0, len(passages), PAIRS)
    second = (first + rng.integers(1, len(passages), PAIRS)) % len(passages)  # never the passage itself
    cosines = _cosines(passages, passages, first, second)
    strangers = _cosines(queries, passages, positives[rng.integers(0, len(positives), PAIRS), 0], first)
    known = _cosines(queries, passages, positives[:, 0], positives[:, 1])
    shares = variances(passages[np.sort(rng.permutation(len(passages))[:SAMPLE])])
    low, high = np.percentile(cosines, [5, 95])
    return Geometry(
        alignment=float((2 - 2 * known).mean()),
        unaligned=float((2 - 2 * strangers).mean()),
        uniformity=float(np.log(np.exp(-2 * (2 - 2 * cosines)).mean())),
        cosine=float(cosines.mean()),
        low=float(low),
        high=float(high),
        components=int(np.searchsorted(np.cumsum(shares), VARIANCE - 1e-9) + 1),
        effective_rank=effective_rank(shares),
        dimensions=min(passages.shape[1], len(passages) - 1),
    )


def variances(vectors: Vectors) -> NDArray[np.float64]:
    """Shares of the variance along principal components, largest first, (d,); they sum to 1.

    Vectors that are all the same have none, and get one component of share 1.
    """
    centred = unit(vectors) - unit(vectors).mean(axis=0)
    values = np.clip(np.linalg.eigvalsh(centred.T @ centred)[::-1], 0.0, None)
    if values.sum() <= 1e-12 * len(vectors):
        shares: NDArray[np.float64] = np.eye(1, len(values))[0]
        return shares
    shares = values / values.sum()
    return shares


def effective_rank(shares: NDArray[np.float64]) -> float:
    """exp of the entropy of shares that sum to 1: n for n equal shares, 1 for a single one."""
    some = shares[shares > 0]
    return float(np.exp(-(some * np.log(some)).sum()))


def unit(vectors: Vectors) -> NDArray[np.float64]:
    """Vectors brought to length 1; one of length 0 stays as it is."""
    wide = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    scaled: NDArray[np.float64] = wide / np.where(lengths > 0, lengths, 1.0)
    return scaled


Rows = NDArray[np.signedinteger[Any]]


def _cosines(left: Vectors, right: Vectors, rows: Rows, others: Rows) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.einsum("nd,nd->n", unit(left[rows]), unit(right[others]))
    return found
