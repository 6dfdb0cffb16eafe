"""Writers that are killed again and again, a reader that never may fail, and what has to be left in the end.

Two processes score pairs of their own with the same teacher, as the step does, and load each other's shards where they
find them. What they have acknowledged (a load that returned) must be in the warehouse exactly once, whoever is killed
and when.
"""

import json
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.ingest.corpus import ingest_corpus
from tasks.ingest.settings import Source
from tasks.record import warehouse_of
from tasks.refs import Run, TeacherRef
from tasks.score.settings import Scoring
from tasks.score.shards import Shards
from tasks.where import Where
from warehouse.load import start_run
from warehouse.queries import quality
from warehouse.snapshot import publish, snapshot_path

Opened = AbstractContextManager[duckdb.DuckDBPyConnection]
WRITERS = 2
FINGERPRINT = "teacher-under-fire"
WRONG = ("doubles", "lost", "torn", "changed", "left over")
PUBLISH_EVERY = 0.2  # seconds; a kill may fall into the making of a snapshot too
KEYS = ["query_hash", "passage_hash"]
TORN = """
SELECT count(*) - (SELECT coalesce(sum(n_new), 0) FROM shard_loads WHERE table_name = 'teacher_scores'),
    count(*) - count(DISTINCT (teacher_id, query_key, passage_key))
FROM teacher_scores
"""
LOST = """
SELECT count(*) FROM read_parquet($files) AS a ANTI JOIN (
    SELECT q.text_hash AS query_hash, p.text_hash AS passage_hash, s.logit
    FROM teacher_scores AS s
    JOIN queries AS q ON q.query_key = s.query_key
    JOIN passages AS p ON p.passage_key = s.passage_key
) AS s ON s.query_hash = a.query_hash AND s.passage_hash = a.passage_hash AND s.logit = a.logit
"""


@dataclass(frozen=True)
class Job:
    """What a writer needs to know to score its part of the pairs."""

    run: Run
    corpus: Artifact
    parts: tuple[Artifact, ...]
    teacher: TeacherRef

    @property
    def home(self) -> Path:
        """The folder of the warehouse."""
        return self.run.where.home

    @property
    def shards(self) -> Shards:
        """The shard files of both writers."""
        return Shards.of(self.run.root, self.teacher.fingerprint)

    def acknowledged(self) -> set[str]:
        """Names of the shards whose load has returned to its caller."""
        path = self.home / "acknowledged.txt"
        return set(path.read_text("utf-8").split()) if path.exists() else set()


@dataclass
class Outcome:
    """What was counted over all episodes, and the longest that a reader waited, in seconds."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    longest_wait: float = 0.0

    def look(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Count rows that the ledger does not know of, and pairs that are there twice."""
        ((torn, doubles),) = connection.execute(TORN).fetchall()
        self.counts.update(torn=abs(torn), doubles=doubles)

    @property
    def sound(self) -> bool:
        """Nothing was lost, doubled, torn, changed or left lying about, and nobody failed."""
        return not self.problems and not any(self.counts[name] for name in WRONG)


def prepare(home: Path, folder: Path, teacher: TeacherRef, pairs: int) -> Job:
    """Make a warehouse with the corpus of a BEIR folder, and cut random pairs into one part for each writer."""
    where = Where(home=home, device="cpu", precision="fp32", threads=1, batch_tokens=1024, lock_seconds=60)
    run = Run(id=start_run(warehouse_of(where), "score", "kill", "{}", {}), recipe="kill", where=where)
    corpus = ingest_corpus(run, Source(path=str(folder)))
    hashes = [pl.read_parquet(corpus.file(f"{name}.parquet"))["hash"] for name in ("queries", "passages")]
    drawn = [values.sample(4 * pairs, with_replacement=True, seed=seed) for seed, values in enumerate(hashes)]
    asked = pl.DataFrame(dict(zip(KEYS, drawn, strict=True))).unique(maintain_order=True).head(pairs)
    parts = tuple(_part(run.root, asked[number::WRITERS].sort(KEYS), number) for number in range(WRITERS))
    return Job(run, corpus, parts, teacher)


def _part(root: Path, pairs: pl.DataFrame, number: int) -> Artifact:
    def build(folder: Path) -> dict[str, Any]:
        pairs.write_parquet(folder / "pairs.parquet")
        return {}

    return make_artifact(root, "pairs", 1, {"part": number}, {}, build)


def write(job: Job, number: int) -> None:
    """Score a part as the step does, writing down every load that has returned: the work of a writing process."""
    from tasks.score import loading, scoring, stored

    real = loading.load_scores

    def load(wh: Any, run: int, teacher: str, shard: Path, name: str, where: Any) -> int:
        new = real(wh, run, teacher, shard, name, where)
        with (job.home / "acknowledged.txt").open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")
        publish(wh, PUBLISH_EVERY)
        return new

    loading.load_scores = stored.load_scores = load
    sizes = Scoring(least_shards=12)
    scoring.score_pairs(scoring.Work(job.run, job.corpus, job.parts[number], job.teacher, sizes))


def read(job: Job, told: Path, stop: Path) -> None:
    """Poll the warehouse and its snapshot until there is a file `stop`: the work of the reading process."""
    outcome, warehouse = Outcome(), warehouse_of(job.run.where)

    def look(opened: Callable[[], Opened]) -> set[str]:
        began = time.monotonic()
        with opened() as connection:
            outcome.longest_wait = max(outcome.longest_wait, time.monotonic() - began)
            outcome.look(connection)
            return {row[0] for row in connection.execute("SELECT name FROM shard_loads").fetchall()}

    snapshot = snapshot_path(warehouse)
    while not stop.exists():
        acknowledged = job.acknowledged()
        try:
            outcome.counts["lost"] += len(acknowledged - look(warehouse.read))
            if snapshot.exists():
                look(lambda: duckdb.connect(str(snapshot), read_only=True))
                outcome.counts["snapshots"] += 1
            outcome.counts["reads"] += 1
        except Exception as error:
            outcome.problems.append(f"reader: {type(error).__name__}: {error}")
        time.sleep(random.uniform(0.0, 0.05))
    told.write_text(json.dumps(vars(outcome)), "utf-8")


class Fire:
    """Starts writers, from a process that has imported everything, and kills them within `life` seconds."""

    def __init__(self, context: ForkServerContext, life: float, kills: int, seed: int) -> None:
        self.context, self.life, self.kills = context, life, kills
        self.random = random.Random(seed)
        self.outcome = Outcome()

    def start(self, job: Job, number: int) -> tuple[ForkServerProcess, float]:
        """Start a writer; returns it with the moment of its death on the clock of `time.monotonic`."""
        process = self.context.Process(target=write, args=(job, number))
        process.start()
        dies = time.monotonic() + self.random.uniform(0.0, self.life)
        return process, dies if self.outcome.counts["kills"] < self.kills else float("inf")

    def episode(self, job: Job, expected: pl.DataFrame) -> None:
        """Kill and restart both writers until both have finished, then compare with an uninterrupted run."""
        stop, told = job.home / "stop", job.home / "reader.json"
        reader = self.context.Process(target=read, args=(job, told, stop))
        reader.start()
        living = {number: self.start(job, number) for number in range(WRITERS)}
        while living:
            time.sleep(0.002)
            for number, (process, dies) in list(living.items()):
                if process.exitcode is not None:
                    del living[number]
                    if process.exitcode:
                        self.outcome.problems.append(f"writer {number} ended with {process.exitcode}")
                elif time.monotonic() >= dies:
                    self.kill(job, process)
                    living[number] = self.start(job, number)
        stop.touch()
        reader.join()
        self.settle(job, expected, json.loads(told.read_text("utf-8")))

    def kill(self, job: Job, process: ForkServerProcess) -> None:
        """Kill a writer and look at what it leaves."""
        process.kill()
        process.join()
        self.outcome.counts["kills"] += 1
        with warehouse_of(job.run.where).read() as connection:
            self.outcome.look(connection)
            self.outcome.counts["lost"] += missing(connection, job)

    def settle(self, job: Job, expected: pl.DataFrame, seen: dict[str, Any]) -> None:
        """Compare the end of an episode with an uninterrupted run, and add up what its reader saw."""
        found, left_over = scores(job), [path for path in job.home.rglob("*") if "tmp-" in path.name]
        changed = found.join(expected, how="anti", on=found.columns).height + abs(found.height - expected.height)
        self.outcome.counts.update(seen["counts"])
        self.outcome.counts.update(
            {"episodes": 1, "pairs": found.height, "changed": changed, "left over": len(left_over)}
        )
        self.outcome.problems += seen["problems"]
        self.outcome.problems += [f"data_quality: {row}" for row in quality(warehouse_of(job.run.where)).rows()]
        self.outcome.longest_wait = max(self.outcome.longest_wait, seen["longest_wait"])


def missing(connection: duckdb.DuckDBPyConnection, job: Job) -> int:
    """Acknowledged pairs that are not in the warehouse with the logit of their shard."""
    acknowledged = job.acknowledged()
    files = [str(path) for path in job.shards.files() if job.shards.name(path) in acknowledged]
    if not files:
        return 0
    ((lost,),) = connection.execute(LOST, {"files": files}).fetchall()
    return int(lost)


def scores(job: Job) -> pl.DataFrame:
    """Every score in the warehouse, by text hashes."""
    with warehouse_of(job.run.where).read() as connection:
        return connection.sql(
            "SELECT q.text_hash AS query_hash, p.text_hash AS passage_hash, s.logit, s.n_tokens, s.truncated "
            "FROM teacher_scores AS s JOIN queries AS q USING (query_key) JOIN passages AS p USING (passage_key) "
            "ORDER BY ALL"
        ).pl()


def under_fire(scratch: Path, folder: Path, teacher: Path, pairs: int, kills: int, seed: int = 0) -> Outcome:
    """Run episodes until so many writers have been killed, each compared with one uninterrupted run.

    Args:
        scratch: Folder for warehouses and artifacts.
        folder: BEIR folder whose texts are paired at random.
        teacher: CrossEncoder folder.
        pairs: Pairs of an episode.
        kills: Kills in all.
        seed: Seed of the moments of death.
    """
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tasks.score.scoring", "models.teacher", "sentence_transformers"])
    reference = TeacherRef(fingerprint=FINGERPRINT, path=teacher, name="under fire")
    whole = prepare(scratch / "whole", folder, reference, pairs)
    *_, life = [finish(context, whole, number) for number in range(WRITERS)]  # the first waits for imports
    expected = scores(whole)
    assert expected.height == pairs, f"{expected.height} of {pairs} pairs in the uninterrupted run"
    fire = Fire(context, life=life, kills=kills, seed=seed)
    while fire.outcome.counts["kills"] < kills and not fire.outcome.problems:
        fire.episode(
            prepare(scratch / f"episode-{fire.outcome.counts['episodes']}", folder, reference, pairs), expected
        )
    return fire.outcome


def finish(context: ForkServerContext, job: Job, number: int) -> float:
    """Run a writer to its end; returns its seconds."""
    began = time.monotonic()
    process = context.Process(target=write, args=(job, number))
    process.start()
    process.join()
    assert process.exitcode == 0, f"a writer that nobody killed ended with {process.exitcode}"
    return time.monotonic() - began
