"""A home folder in which a tiny teacher scores, and a way to watch and disturb it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from copies import copied
from tiny import sentences
from tiny_corpus import make_corpus

from models.teacher import Teacher
from tasks.artifacts import Artifact, make_artifact
from tasks.record import warehouse_of
from tasks.refs import Run, TeacherRef
from tasks.score.scoring import Work, score_pairs
from tasks.score.settings import Scoring
from tasks.where import Where
from warehouse.load import load_corpus, start_run
from warehouse.queries import stored_scores
from warehouse.texts import text_hash

KEYS = ["query_hash", "passage_hash"]
PASSAGES = sentences(30, seed=1, shortest=1, longest=30)
QUERIES = {text: "train" for text in sentences(6, seed=2, longest=8)}
SIZES = Scoring(least_shards=4)


@dataclass
class Bench:
    """A home folder with a run, a corpus, a teacher and pairs to score."""

    home: Path
    teacher: TeacherRef
    run: Run
    corpus: Artifact

    @property
    def root(self) -> Path:
        return self.run.root

    def pairs(self, queries: Sequence[str], passages: Sequence[str]) -> Artifact:
        rows = [(text_hash(query), text_hash(passage)) for query in queries for passage in passages]

        def build(folder: Path) -> dict[str, object]:
            frame = pl.DataFrame(rows, schema={name: pl.Int64 for name in KEYS}, orient="row")
            frame.sort(KEYS).write_parquet(folder / "pairs.parquet")
            return {}

        return make_artifact(self.root, "mine", 1, {}, {"rows": str(sorted(rows))}, build)

    def work(self, pairs: Artifact) -> Work:
        return Work(run=self.run, corpus=self.corpus, pairs=pairs, teacher=self.teacher, sizes=SIZES)

    def score(self, pairs: Artifact) -> Artifact:
        return score_pairs(self.work(pairs))

    def shard_files(self) -> list[Path]:
        return sorted((self.root / "shards" / self.teacher.fingerprint[:16]).glob("*.parquet"))

    def stored(self, pairs: Artifact) -> pl.DataFrame:
        return stored_scores(warehouse_of(self.run.where), self.teacher.fingerprint, pairs.file("pairs.parquet"))


def open_bench(home: Path, teacher: TeacherRef, passages: Sequence[str] = PASSAGES) -> Bench:
    where = where_of(home)
    if where.warehouse_path.exists():
        number = opened(passages, home)
    else:
        copied(fresh(tuple(passages)), home)
        number = 1
    corpus = make_corpus(where.artifacts_path, passages, QUERIES, [])
    return Bench(home, teacher, Run(id=number, recipe="tiny", where=where), corpus)


def where_of(home: Path) -> Where:
    return Where(home=home, device="cpu", precision="fp32", threads=1, batch_tokens=128, lock_seconds=20)


@cache
def fresh(passages: tuple[str, ...]) -> Callable[[Path], int]:
    return partial(opened, passages)


def opened(passages: Sequence[str], home: Path) -> int:
    """Begin a run in a folder and load the corpus; returns the run's number."""
    where = where_of(home)
    warehouse = warehouse_of(where)
    number = start_run(warehouse, "distill", "tiny", "{}", {})
    corpus = make_corpus(where.artifacts_path, passages, QUERIES, [])
    load_corpus(warehouse, number, "tiny", corpus.path, corpus.fingerprint)
    return number


class Counting:
    """Counts the pairs that reach any teacher, and can stumble over one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pairs: list[tuple[str, str]] = []
        self.before: Callable[[Sequence[tuple[str, str]]], None] = lambda pairs: None
        real = Teacher.score

        def score(model: Teacher, pairs: Sequence[tuple[str, str]], *rest: Any) -> Any:
            self.before(pairs)
            self.pairs.extend(pairs)
            return real(model, pairs, *rest)

        monkeypatch.setattr(Teacher, "score", score)
