"""What the workers of a cluster compute in tests: importable by name."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.progress import Tick
from tasks.score.judging import Bench, PairShard, score_shard

DEADLY = -9


@dataclass(frozen=True)
class Notebook:
    """An opening that writes down which process opened it."""

    folder: Path

    def open(self) -> Path:
        (self.folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        return self.folder

    @property
    def opened(self) -> list[int]:
        return sorted(int(path.name.partition("-")[0]) for path in self.folder.iterdir())


@dataclass(frozen=True)
class Piece:
    """A shard that takes its time, or fails."""

    number: int
    seconds: float = 0.0
    size: int = 1


def who(folder: Path, piece: Piece, tick: Tick) -> int:
    """Tell which process computes."""
    time.sleep(piece.seconds)
    if piece.number == DEADLY:
        os.kill(os.getpid(), signal.SIGKILL)
    if piece.number < 0:
        raise ValueError(f"piece {piece.number} cannot be computed")
    return os.getpid()


def score_and_die_once(bench: Bench, shard: PairShard, tick: Tick) -> Any:
    """Score a shard, but be killed after its first batch, once."""
    died = bench.judge.where.home / "died"
    if shard.number == 1 and not died.exists():
        died.write_text(str(os.getpid()), "utf-8")
        return score_shard(bench, shard, lambda count: os.kill(os.getpid(), signal.SIGKILL))
    return score_shard(bench, shard, tick)
