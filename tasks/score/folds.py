"""Who scores a pair: one cross-encoder, or the folds of a cross-fitted one that have not seen its labels."""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from tasks.progress import Tick
from tasks.refs import TeacherRef

if TYPE_CHECKING:
    from models.runtime import Runtime
    from models.teacher import Scores, Teacher

Hashes = npt.NDArray[np.int64]
Pairs = Sequence[tuple[str, str]]


class Scorer(Protocol):
    """Anything that gives pairs of texts raw logits."""

    def score(self, queries: Hashes, pairs: Pairs, batch_tokens: int | None, tick: Tick) -> "Scores":
        """Score pairs.

        Args:
            queries: Hash of each pair's query text, (N,).
            pairs: Query and passage texts, N.
            batch_tokens: Padded tokens per batch.
            tick: Called with the number of pairs done.
        """
        ...


class SingleTeacher:
    """One cross-encoder for every pair."""

    def __init__(self, teacher: "Teacher") -> None:
        self.teacher = teacher

    def score(self, queries: Hashes, pairs: Pairs, batch_tokens: int | None, tick: Tick) -> "Scores":
        """Score pairs, whoever asks."""
        return self.teacher.score(pairs, batch_tokens, tick)


class FoldedTeacher:
    """Cross-fitted teachers: a query is scored by the mean of those that have not seen its labels.

    A teacher that was trained on a query's labels has been told that everything unlabelled is wrong, and
    repeats it; so its own training queries are left to the others. Queries that none has seen get the
    mean of all.
    """

    def __init__(self, folds: Sequence["Teacher"], seen: pl.DataFrame) -> None:
        """Take loaded folds and `seen`: `query_hash, fold`, the queries whose labels a fold was trained on.

        Raises:
            ValueError: A fold is named that isn't there, or a query has been seen by all.
        """
        self.folds = folds
        self.seen = [
            seen.filter(pl.col("fold") == number)["query_hash"].unique().to_numpy() for number in range(len(folds))
        ]
        unknown = seen.filter(~pl.col("fold").is_between(0, len(folds) - 1))
        if unknown.height:
            raise ValueError(f"seen.parquet names fold {unknown['fold'][0]}, and there are {len(folds)} folds")
        everywhere = seen.unique().group_by("query_hash").len().filter(pl.col("len") >= len(folds))
        if everywhere.height:
            raise ValueError(
                f"{everywhere.height} queries were seen by all {len(folds)} folds, first hash "
                f"{everywhere['query_hash'].sort()[0]}; every score of theirs would repeat the labels"
            )

    def score(self, queries: Hashes, pairs: Pairs, batch_tokens: int | None, tick: Tick) -> "Scores":
        """Score every pair by the folds that may, and take the mean of their logits."""
        from models.teacher import Scores

        allowed = np.stack([~np.isin(queries, seen) for seen in self.seen])  # (folds, N)
        total, count = np.zeros(len(pairs), np.float64), allowed.sum(axis=0)
        n_tokens, truncated = np.zeros(len(pairs), np.int32), np.zeros(len(pairs), np.bool_)
        step = Share(tick, len(pairs) / max(int(count.sum()), 1))
        for fold, may in zip(self.folds, allowed, strict=True):
            chosen = np.flatnonzero(may)
            if not len(chosen):
                continue
            scores = fold.score([pairs[int(at)] for at in chosen], batch_tokens, step)
            total[chosen] += scores.logits
            n_tokens[chosen], truncated[chosen] = scores.n_tokens, scores.truncated
        return Scores((total / count).astype(np.float32), n_tokens, truncated)


class Share:
    """A tick that counts a pair once, however many models score it."""

    def __init__(self, tick: Tick, share: float) -> None:
        self.tick, self.share, self.owed = tick, share, 0.0

    def __call__(self, count: int) -> None:
        """Pass on whole pairs, and owe the rest."""
        self.owed += count * self.share
        whole = int(self.owed + 1e-9)
        if whole:
            self.owed -= whole
            self.tick(whole)


@lru_cache(maxsize=1)
def open_scorer(teacher: TeacherRef, runtime: "Runtime") -> Scorer:
    """Load a teacher once per process; the last one stays in memory.

    Args:
        teacher: A CrossEncoder folder, or a folder of folds with teacher.json; its fingerprint tells apart two
            teachers that lay at one path.
        runtime: Device, precision and threads.
    """
    return load_scorer(teacher.path, runtime, teacher.max_length, teacher.trust_remote_code)


def load_scorer(path: Path, runtime: "Runtime", max_length: int = 0, trust_remote_code: bool = False) -> Scorer:
    """Load a CrossEncoder folder, or all folds of a folder of folds.

    Args:
        path: The folder.
        runtime: Device, precision and threads.
        max_length: Tokens of query and passage together; 0: as the folder says.
        trust_remote_code: Run Python code that the folder brings.
    """
    from models.teacher import Teacher

    about = path / "teacher.json"
    if not about.exists():
        return SingleTeacher(Teacher.load(path, runtime, max_length or None, trust_remote_code))
    told = json.loads(about.read_text("utf-8"))
    folds = [Teacher.load(path / "folds" / str(number), runtime) for number in range(int(told["folds"]))]
    return FoldedTeacher(folds, pl.read_parquet(path / told["seen"]))
