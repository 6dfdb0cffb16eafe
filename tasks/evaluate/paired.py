"""Two systems on the same queries: how sure is the difference?"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

SAMPLES = 10_000
CELLS = 2_000_000  # numbers drawn at a time: 16 MB


@dataclass(frozen=True)
class Comparison:
    """A paired comparison of two systems by one measure.

    Attributes:
        queries: How many queries both were measured on.
        difference: Mean of the second system minus mean of the first.
        p: Two-sided p-value of a paired randomisation test.
        low: Lower end of the bootstrap 95 % interval of the difference.
        high: Its upper end.
    """

    queries: int
    difference: float
    p: float
    low: float
    high: float


def compare(first: pl.DataFrame, second: pl.DataFrame, split: str, measure: str, seed: int = 0) -> Comparison:
    """Compare two systems' query_metrics by one measure on one split.

    The randomisation test flips the sign of each query's difference at random (Fisher; Smucker et al. 2007,
    10.1145/1321440.1321528); the interval is the percentile bootstrap over queries.

    Args:
        first: `split, query_hash, measure, value` of the system to beat.
        second: The same of the other one.
        split: dev or test.
        measure: Name of the measure.
        seed: Seed of both.

    Raises:
        ValueError: The two were not measured on the same queries, or on none.
    """
    of_first, of_second = (_values(frame, split, measure) for frame in (first, second))
    if not of_first.height or not of_first["query_hash"].equals(of_second["query_hash"]):
        raise ValueError(
            f"{measure} on {split}: one system has {of_first.height} queries, the other {of_second.height}, and they "
            "must be the same ones; a difference of means over other queries says nothing"
        )
    return compare_differences((of_second["value"] - of_first["value"]).to_numpy(), seed)


def compare_differences(differences: np.ndarray, seed: int = 0) -> Comparison:
    """Test whether differences per query, (Q,), have a mean other than 0."""
    queries = len(differences)
    rng = np.random.default_rng(seed)
    flipped = _sampled(queries, lambda rows: (rng.integers(0, 2, (rows, queries)) * 2 - 1) @ differences / queries)
    drawn = _sampled(queries, lambda rows: differences[rng.integers(0, queries, (rows, queries))].mean(axis=1))
    observed = float(differences.mean())
    # A sum in another order may differ in its last bits from the observed one; such a sample is as extreme.
    extreme = int((np.abs(flipped) >= abs(observed) - 1e-12).sum())
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Comparison(queries, observed, (extreme + 1) / (SAMPLES + 1), float(low), float(high))


def mean_interval(values: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """The percentile bootstrap 95 % interval of a mean over queries, values (Q,)."""
    queries, rng = len(values), np.random.default_rng(seed)
    drawn = _sampled(queries, lambda rows: values[rng.integers(0, queries, (rows, queries))].mean(axis=1))
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


def _sampled(queries: int, draw: Callable[[int], np.ndarray]) -> np.ndarray:
    rows = max(1, CELLS // queries)
    parts = [draw(min(rows, SAMPLES - start)) for start in range(0, SAMPLES, rows)]
    return np.concatenate(parts)


def _values(frame: pl.DataFrame, split: str, measure: str) -> pl.DataFrame:
    chosen = frame.filter((pl.col("split") == split) & (pl.col("measure") == measure))
    return chosen.select("query_hash", "value").sort("query_hash")
