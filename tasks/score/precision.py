"""Whether a teacher may compute in bf16: its order of passages is compared with fp32 once, and remembered."""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from tasks.replacing import write_whole
from tasks.where import Where

if TYPE_CHECKING:
    from models.runtime import Runtime

SAMPLE = 200  # pairs
PER_QUERY = 20
APART = 0.1  # standard deviations of the logits from which on two passages count as apart
MOST_SWAPPED = 0.01

log = logging.getLogger("remine.score")

Logits = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Agreement:
    """How well bf16 repeats fp32 on a sample.

    Attributes:
        pairs: Pairs in the sample.
        comparisons: Comparisons of two passages of one query whose fp32 logits are apart.
        swapped: Share of those that bf16 puts the other way round.
        kendall: Kendall's tau over all comparisons within queries, apart or not.
        largest: Largest |difference| of two logits of a pair.
        deviation: Standard deviation of the fp32 logits.
    """

    pairs: int
    comparisons: int
    swapped: float
    kendall: float
    largest: float
    deviation: float

    @property
    def agrees(self) -> bool:
        """Ranks stand: hardly any two passages that fp32 holds apart change places."""
        return self.comparisons > 0 and self.swapped <= MOST_SWAPPED

    def __str__(self) -> str:
        return (
            f"of {self.comparisons} comparisons that fp32 holds apart, bf16 swaps {self.swapped:.1%} (at most "
            f"{MOST_SWAPPED:.0%}); Kendall's tau {self.kendall:.3f}, largest difference {self.largest:.3f} logits "
            f"on {self.pairs} pairs, standard deviation {self.deviation:.3f}"
        )


def compare(fp32: Logits, bf16: Logits, queries: npt.NDArray[np.int64]) -> Agreement:
    """Compare two arithmetics within queries; across all pairs where no query has two.

    Args:
        fp32: Logits to be repeated, (N,).
        bf16: Logits of the same pairs, (N,).
        queries: Query hash of each pair, (N,).
    """
    same = queries[:, None] == queries[None, :]
    upper = np.triu(np.ones_like(same), 1)
    chosen = same & upper if (same & upper).any() else upper
    before = (fp32[:, None] - fp32[None, :])[chosen]
    after = (bf16[:, None] - bf16[None, :])[chosen]
    agreement = np.sign(before) * np.sign(after)
    deviation = float(fp32.std())
    apart = np.abs(before) >= max(APART * deviation, np.finfo(np.float32).tiny)
    return Agreement(
        pairs=len(fp32),
        comparisons=int(apart.sum()),
        swapped=float((agreement[apart] < 0).mean()) if apart.any() else 0.0,
        kendall=float(agreement[before != 0].mean()) if (before != 0).any() else 0.0,
        largest=float(np.abs(fp32 - bf16).max(initial=0.0)),
        deviation=deviation,
    )


def sample(pairs: pl.DataFrame) -> pl.DataFrame:
    """Choose at most 200 pairs, at most 20 of a query, in the order of hashes."""
    ordered = pairs.sort("query_hash", "passage_hash")
    return ordered.group_by("query_hash", maintain_order=True).head(PER_QUERY).head(SAMPLE)


def settle(where: Where, folder: Path, measure: Callable[["Runtime", "Runtime"], Agreement]) -> "Runtime":
    """Choose the runtime that a teacher scores in.

    Args:
        where: Device, precision and threads that were asked for.
        folder: The teacher's shards; the comparison is remembered there.
        measure: Compares the teacher in two runtimes, fp32 first, on a sample.

    Raises:
        ValueError: bf16 was asked for by name and ranks move; the figures are in the sentence.
    """
    from models.runtime import configure

    runtime = configure(where.device, where.precision, where.threads)
    if runtime.precision == "fp32":
        return runtime
    exact = replace(runtime, precision="fp32")
    found = _remembered(folder / f"precision-bf16-{runtime.device.partition(':')[0]}.json", exact, runtime, measure)
    if found.agrees:
        return runtime
    if where.precision == "bf16":
        raise ValueError(f"this teacher cannot score in bf16: {found}; use precision fp32 or auto")
    log.warning("scoring in fp32, because in bf16 ranks move: %s", found)
    return exact


def _remembered(
    path: Path, exact: "Runtime", runtime: "Runtime", measure: Callable[["Runtime", "Runtime"], Agreement]
) -> Agreement:
    if path.exists():
        return Agreement(**json.loads(path.read_text("utf-8")))
    found = measure(exact, runtime)
    if found.comparisons:
        write_whole(path, f"{json.dumps(asdict(found), indent=1)}\n".encode())
    return found
