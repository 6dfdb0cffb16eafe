"""Scoring what is pending: plan once, compute missing shards whole, load them, read everything back."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import Artifact, make_artifact, name_artifact
from tasks.progress import progress
from tasks.record import warehouse_of
from tasks.refs import Run, TeacherRef
from tasks.runner import ask, open_runner
from tasks.score.ensemble import combined
from tasks.score.judging import Judge, PairShard, score_shard, settle_precision
from tasks.score.loading import Loader
from tasks.score.plan import KEYS, make_plan, planned, with_length
from tasks.score.settings import Scoring
from tasks.score.shards import COLUMNS, Shards, read_where
from tasks.score.stored import register, restore_artifact, restore_shards
from warehouse.disk import DiskFull
from warehouse.queries import pending_pairs, stored_scores

VERSION = 1
MOST_ATTEMPTS = 100

log = logging.getLogger("remine.score")


@dataclass(frozen=True)
class Work:
    """What one call of the step works on."""

    run: Run
    corpus: Artifact
    pairs: Artifact
    teacher: TeacherRef
    sizes: Scoring

    @property
    def shards(self) -> Shards:
        """The teacher's shard files."""
        return Shards.of(self.run.root, self.teacher.fingerprint)

    @property
    def pairs_file(self) -> Path:
        """`query_hash, passage_hash` of everything to score."""
        return self.pairs.file("pairs.parquet")

    @property
    def artifact(self) -> Artifact:
        """What the step makes, whether or not it is there."""
        inputs = {"pairs": self.pairs.fingerprint, "teacher": self.teacher.fingerprint}
        return name_artifact(self.run.root, "score", VERSION, {}, inputs)

    @property
    def parts(self) -> list["Work"]:
        """The same work of each member of an ensemble."""
        return [replace(self, teacher=member.teacher) for member in self.teacher.members]


def score_pairs(work: Work) -> Artifact:
    """Write scores.parquet: the raw logit of every pair, computing only those that the store doesn't have.

    Shards and artifacts of a warehouse that was deleted or restored are loaded again. The members of an ensemble
    score for themselves, so another ensemble with one of them finds its scores there.

    Raises:
        RuntimeError: A shard failed, or the warehouse could not be loaded; everything computed is kept.
        ValueError: A pair has no score after all, or names a text that the corpus doesn't have.
    """
    register(work.run, work.teacher)
    restore_shards(work.run, work.corpus, work.shards)
    _, inputs = name_scores(work.run.root, work.pairs, work.teacher.fingerprint)

    def build(folder: Path) -> Mapping[str, Any]:
        scores, facts = _by_members(work) if work.parts else _by_itself(work)
        _check_whole(scores, pl.read_parquet(work.pairs_file, columns=KEYS).unique())
        scores = scores.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items()).sort(KEYS)
        scores.write_parquet(folder / "scores.parquet", compression="zstd")
        return facts

    artifact = make_artifact(work.run.root, "score", VERSION, {}, inputs, build)
    for part in work.parts:
        score_pairs(part)
    restore_artifact(work.run, work.teacher.fingerprint, artifact, work.pairs_file)
    return artifact


def _by_itself(work: Work) -> tuple[pl.DataFrame, dict[str, Any]]:
    fill(work)
    scores = stored_scores(warehouse_of(work.run.where), work.teacher.fingerprint, work.pairs_file)
    return scores, _facts(work, scores)


def _by_members(work: Work) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Combine what the members give; it costs what those compute that have not scored these pairs for another."""
    known = [(part.artifact.path / "artifact.json").exists() for part in work.parts]
    scored = [score_pairs(part) for part in work.parts]
    scores = combined([artifact.file("scores.parquet") for artifact in scored], work.teacher.members)
    each = [artifact.facts for artifact in scored]
    fresh = [facts for facts, was_there in zip(each, known, strict=True) if not was_there]
    pairs, new = sum(facts["pairs"] for facts in each), sum(facts["new"] for facts in fresh)
    return scores, {
        "pairs": pairs,
        "new": new,
        "reused": pairs - new,
        "tokens": sum(facts["tokens"] for facts in fresh),
        "truncated": sum(facts["truncated"] for facts in each),
        "truncated_share": float(scores["truncated"].mean() or 0.0),  # type: ignore[arg-type]
        "seconds": round(sum(facts["seconds"] for facts in fresh), 3),
        "precision": sorted({name for facts in each for name in facts["precision"]}),
        "scales": {member.teacher.name: [member.mean, member.deviation] for member in work.teacher.members},
    }


def name_scores(root: Path, pairs: Artifact, teacher: str) -> tuple[Artifact, dict[str, str]]:
    """Name a teacher's scores of some pairs, and what goes into them, whether or not they are there."""
    inputs = {"pairs": pairs.fingerprint, "teacher": teacher}
    return name_artifact(root, "score", VERSION, {}, inputs), inputs


def fill(work: Work) -> None:
    """Score until nothing is pending: by the plan that exists, else by a new one."""
    warehouse = warehouse_of(work.run.where)
    for attempt in range(MOST_ATTEMPTS):
        pending = pending_pairs(warehouse, work.teacher.fingerprint, work.pairs_file)
        if not pending.height:
            return
        plan = planned(work.run.root, work.pairs, work.teacher.fingerprint, attempt) or _new_plan(
            work, pending, attempt
        )
        missing = _missing_shards(work, plan, pending)
        if missing:
            score_shards(work, plan, missing)
    raise RuntimeError(
        f"{work.pairs_file}: pairs are still without a score after {MOST_ATTEMPTS} plans; "
        "loads don't reach the warehouse that is read"
    )


def score_shards(work: Work, plan: Artifact, missing: Sequence[int]) -> None:
    """Compute a plan's missing shards, each whole or not at all, and load them as they are done.

    Raises:
        RuntimeError: A shard failed; the others are kept and loaded.
        DiskFull: There was no room for a shard; those before it are kept and loaded.
    """
    judge = Judge(work.run.where.worker, work.teacher, work.corpus, plan, work.shards)
    sizes = dict(pl.read_parquet(plan.file("plan.parquet"), columns=["shard"])["shard"].value_counts().rows())
    failed: dict[int, Exception] = {}
    with open_runner(work.run.where) as runner:
        exactly = ask(runner, judge, settle_precision)
        todo = [
            PairShard(number, sizes[number], exactly, work.shards.path(plan.fingerprint, number)) for number in missing
        ]
        with (
            Loader(warehouse_of(work.run.where), work.run.id, work.shards) as loader,
            progress("score", sum(shard.size for shard in todo), "pairs") as tick,
        ):
            for done in runner.map(judge, score_shard, todo, tick):
                if done.error is None:
                    loader.load(done.shard.path)
                elif isinstance(done.error, DiskFull):  # the other shards would be computed for nothing
                    raise done.error
                else:  # one bad pair must not cost the others; all are reported below
                    failed[done.shard.number] = done.error
                    log.error("shard %s failed: %s", done.shard.path.name, done.error)
    _report(failed, len(sizes))


def _report(failed: Mapping[int, Exception], total: int) -> None:
    if failed:
        first = failed[min(failed)]
        raise RuntimeError(
            f"{len(failed)} of {total} shards failed; {total - len(failed)} kept; run again to go on. {first}"
        ) from first


def _new_plan(work: Work, pending: pl.DataFrame, attempt: int) -> Artifact:
    passages, queries = (pl.read_parquet(work.corpus.file(f"{name}.parquet")) for name in ("passages", "queries"))
    sized = with_length(pending, passages, queries)
    return make_plan(work.run.root, work.pairs, work.teacher.fingerprint, attempt, sized, work.sizes)


def _missing_shards(work: Work, plan: Artifact, pending: pl.DataFrame) -> list[int]:
    """Shards of a plan that have no file and are still wanted."""
    wanted = pl.read_parquet(plan.file("plan.parquet")).join(pending, on=KEYS, how="semi")["shard"].unique().sort()
    return [number for number in wanted if not work.shards.path(plan.fingerprint, number).exists()]


def _check_whole(scores: pl.DataFrame, asked: pl.DataFrame) -> None:
    missing = asked.join(scores, on=KEYS, how="anti")
    if missing.height or scores.height != asked.height:
        raise ValueError(
            f"{missing.height} of {asked.height} pairs have no score (the store gave {scores.height} rows); "
            "nothing may stand in for a missing score"
        )


def _facts(work: Work, scores: pl.DataFrame) -> dict[str, Any]:
    """Count what was computed for these pairs (in this run or an interrupted one) and what was there."""
    plan = planned(work.run.root, work.pairs, work.teacher.fingerprint, 0)
    new = pl.read_parquet(plan.file("plan.parquet")).join(scores, on=KEYS) if plan else scores.clear()
    files = [path for path in work.shards.files() if plan and path.name.startswith(f"{plan.fingerprint[:16]}-")]
    computed = [read_where(path) for path in files]
    return {
        "pairs": scores.height,
        "new": new.height,
        "reused": scores.height - new.height,
        "tokens": int(new["n_tokens"].sum()),
        "truncated": int(scores["truncated"].sum()),
        "truncated_share": float(scores["truncated"].mean() or 0.0),  # type: ignore[arg-type]
        "seconds": round(sum(float(where["seconds"]) for where in computed), 3),
        "precision": sorted({str(where["precision"]) for where in computed}),
    }
