"""Several teachers as one: the mean of their logits, each brought to a scale of its own first.

Raw logits of two models have different spreads, so their mean would be the louder one's. The scales are settled
once, on the pairs that the ensemble was made with, and belong to what the ensemble is: its logit of a pair then
depends on nothing else that is scored, and one calibration fits all rounds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from tasks.progress import Tick
from tasks.refs import Member, TeacherRef
from tasks.score.folds import Hashes, Pairs, Scorer, Share, load_scorer
from tasks.score.shards import COLUMNS

if TYPE_CHECKING:
    from models.runtime import Runtime
    from models.teacher import Scores

KEYS = ["query_hash", "passage_hash"]
LEAST_DEVIATION = 1e-6  # logits


def scale_of(logits: npt.NDArray[np.float32], name: str) -> tuple[float, float]:
    """Mean and standard deviation (of the whole, not of a sample) of a teacher's logits.

    Raises:
        ValueError: There are none, or they are all alike.
    """
    exact = logits.astype(np.float64)
    if not exact.size or exact.std() < LEAST_DEVIATION:
        raise ValueError(
            f"teacher {name!r} gives {exact.size} pairs one and the same logit; it tells no passage from another, and "
            "brought to a common scale it would add nothing but noise: leave it out of the ensemble"
        )
    return float(exact.mean()), float(exact.std())


def mean_logits(logits: Sequence[npt.NDArray[np.float32]], members: Sequence[Member]) -> npt.NDArray[np.float32]:
    """Mean over members of (logit - mean) / deviation, N values from members × N."""
    parts = [
        (each.astype(np.float64) - member.mean) / member.deviation for each, member in zip(logits, members, strict=True)
    ]
    made: npt.NDArray[np.float32] = np.mean(parts, axis=0).astype(np.float32)
    return made


def combined(scored: Sequence[Path], members: Sequence[Member]) -> pl.DataFrame:
    """Put the members' scores of the same pairs together.

    Args:
        scored: scores.parquet of each member.
        members: Their scales, in the same order.

    Returns:
        `query_hash, passage_hash, logit, n_tokens, truncated`: what all members read together, and whether any of
        them read a shortened passage.

    Raises:
        ValueError: They have not scored the same pairs.
    """
    frames = [pl.read_parquet(path).sort(KEYS) for path in scored]
    first = frames[0]
    for path, frame in zip(scored, frames, strict=True):
        if not frame.select(KEYS).equals(first.select(KEYS)):
            raise ValueError(
                f"{path} has other pairs than {scored[0]} ({frame.height} and {first.height}); nothing may stand in "
                "for a missing score"
            )
    made = mean_logits([frame["logit"].to_numpy() for frame in frames], members)
    return first.select(
        *KEYS,
        logit=pl.Series(made, dtype=COLUMNS["logit"]),
        n_tokens=pl.Series(np.sum([frame["n_tokens"].to_numpy() for frame in frames], axis=0), dtype=pl.Int32),
        truncated=pl.Series(np.any([frame["truncated"].to_numpy() for frame in frames], axis=0)),
    )


class EnsembleTeacher:
    """Scores pairs by every member, where nothing is stored: a search."""

    def __init__(self, scorers: Sequence[Scorer], members: Sequence[Member]) -> None:
        self.scorers, self.members = scorers, members

    def score(self, queries: Hashes, pairs: Pairs, batch_tokens: int | None, tick: Tick) -> "Scores":
        """Score every pair by every member, and take the mean on the members' scales."""
        from models.teacher import Scores

        share = Share(tick, 1 / len(self.scorers))
        made = [scorer.score(queries, pairs, batch_tokens, share) for scorer in self.scorers]
        return Scores(
            mean_logits([scores.logits for scores in made], self.members),
            np.sum([scores.n_tokens for scores in made], axis=0, dtype=np.int32),
            np.any([scores.truncated for scores in made], axis=0),
        )


def load_teacher(teacher: TeacherRef, runtime: "Runtime") -> Scorer:
    """Load a teacher, or all members of an ensemble."""
    if teacher.members:
        return EnsembleTeacher([load_teacher(member.teacher, runtime) for member in teacher.members], teacher.members)
    return load_scorer(teacher.path, runtime, teacher.max_length, teacher.trust_remote_code)
