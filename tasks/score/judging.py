"""A shard of pairs: what one process scores at a time, and writes down."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tasks.artifacts import Artifact, installed_versions
from tasks.progress import Tick
from tasks.refs import TeacherRef
from tasks.runner import Question
from tasks.score import precision
from tasks.score.folds import Scorer, load_scorer, open_scorer
from tasks.score.plan import KEYS
from tasks.score.shards import Shards, write_shard
from tasks.where import Where

if TYPE_CHECKING:
    from models.runtime import Precision, Runtime


@dataclass(frozen=True)
class Judge:
    """A teacher with a plan of what it scores.

    Attributes:
        where: Device, precision, threads and batch size.
        teacher: Who scores.
        corpus: passages and queries, with their texts.
        plan: Which pair is in which shard.
        shards: Where scores are written to.
    """

    where: Where
    teacher: TeacherRef
    corpus: Artifact
    plan: Artifact
    shards: Shards

    def open(self) -> "Bench":
        """Read the texts; the teacher is loaded when it is settled how exactly it computes."""
        queries = pl.read_parquet(self.corpus.file("queries.parquet")).select(query_hash="hash", query="text")
        passages = pl.read_parquet(self.corpus.file("passages.parquet")).select(passage_hash="hash", passage="text")
        return Bench(self, queries, passages)


@dataclass(frozen=True)
class Bench:
    """What a process holds on to from one shard to the next.

    Attributes:
        judge: Who scores what.
        queries: `query_hash, query`.
        passages: `passage_hash, passage`.
    """

    judge: Judge
    queries: pl.DataFrame
    passages: pl.DataFrame

    def texts(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Add the texts `query` and `passage` to pairs, in their order."""
        joined = pairs.join(self.queries, on="query_hash", how="left", maintain_order="left")
        return joined.join(self.passages, on="passage_hash", how="left", maintain_order="left")

    def score(self, scorer: Scorer, texts: pl.DataFrame, tick: Tick) -> pl.DataFrame:
        """Add `logit`, `n_tokens` and `truncated` to the keys of pairs with their texts."""
        pairs = list(zip(texts["query"].to_list(), texts["passage"].to_list(), strict=True))
        scores = scorer.score(texts["query_hash"].to_numpy(), pairs, self.judge.where.batch_tokens, tick)
        return texts.select(KEYS).with_columns(
            logit=pl.Series(scores.logits),
            n_tokens=pl.Series(scores.n_tokens),
            truncated=pl.Series(scores.truncated),
        )


@dataclass(frozen=True)
class PairShard:
    """Some pairs of a plan.

    Attributes:
        number: Which of its shards.
        size: How many pairs.
        precision: Arithmetic, settled for all shards.
        path: The file of their scores.
    """

    number: int
    size: int
    precision: "Precision"
    path: Path


def settle_precision(bench: Bench, question: Question, tick: Tick) -> "Precision":
    """Settle the arithmetic of a plan's shards, by comparing it with fp32 on a sample where it isn't that.

    Raises:
        ValueError: bf16 was asked for by name and ranks move, or the teacher cannot score as it was asked to.
    """
    from models.runtime import configure

    judge = bench.judge

    def measure(exact: "Runtime", quick: "Runtime") -> precision.Agreement:
        some = bench.texts(precision.sample(pl.read_parquet(judge.plan.file("plan.parquet"), columns=KEYS)))
        of_exact, of_quick = (
            bench.score(scorer, some, tick)["logit"].to_numpy()
            for scorer in (_beside(judge.teacher, exact), open_scorer(judge.teacher, quick))
        )
        return precision.compare(of_exact, of_quick, some["query_hash"].to_numpy())

    settled = precision.settle(judge.where, judge.shards.folder, measure).precision
    # a teacher that cannot be loaded is said once, not by every shard
    open_scorer(judge.teacher, configure(judge.where.device, settled, judge.where.threads))
    return settled


def _beside(teacher: TeacherRef, runtime: "Runtime") -> Scorer:
    """Load a teacher beside the one that is kept."""
    return load_scorer(teacher.path, runtime, teacher.max_length, teacher.trust_remote_code)


def score_shard(bench: Bench, shard: PairShard, tick: Tick) -> None:
    """Score a shard and write its file.

    Raises:
        DiskFull: There is no room for it.
        NonFiniteScore: A logit is NaN or infinite; the pair is named.
    """
    from models.runtime import configure

    where, started = bench.judge.where, time.monotonic()
    runtime = configure(where.device, shard.precision, where.threads)
    scorer = open_scorer(bench.judge.teacher, runtime)
    plan = pl.scan_parquet(bench.judge.plan.file("plan.parquet"))
    scores = bench.score(scorer, bench.texts(plan.filter(pl.col("shard") == shard.number).collect()), tick)
    computed = {
        "precision": runtime.precision,
        "device": runtime.device,
        "versions": installed_versions(),
        "seconds": round(time.monotonic() - started, 3),
    }
    write_shard(shard.path, scores, computed)
