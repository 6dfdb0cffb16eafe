"""A run that is killed with -9 goes on from what is finished, and ends as if nothing had happened."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from sources import write_words

from warehouse.connect import Warehouse
from warehouse.queries import quality

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
RECIPE = """
rounds = 1
[source]
path = "data"
[student]
model = "{student}"
[warmup]
steps = 60
batch = 16
lr = 1e-3
control = false
evaluate_every = 20
[teach]
steps = 4
batch = 4
evaluate_every = 2
dev_queries = 10
[teacher]
blend = [0.0]
gate = "warn"
[mining]
depth = 40
last_rank = 40
[evaluation]
rerank_depth = 10
[training]
steps = 60
batch = 8
list_length = 4
evaluate_every = 10
"""
COMMAND = [sys.executable, "-m", "flows.cli.main", "run", "--device", "cpu", "--precision", "fp32", "--threads", "1"]


def make_home(home: Path, student: Path) -> Path:
    write_words(home / "data", 250)
    (home / "recipe.toml").write_text(RECIPE.format(student=student), "utf-8")
    return home


def start(home: Path) -> "subprocess.Popen[bytes]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "REMINE_"))}
    environment = {**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with (home / "log.txt").open("ab") as log:
        return subprocess.Popen(COMMAND, cwd=home, env=environment, stdout=log, stderr=log)


def finish(home: Path) -> None:
    assert start(home).wait(timeout=600) == 0, (home / "log.txt").read_text("utf-8")[-3000:]


def kill_when(home: Path, reached: Callable[[], bool]) -> None:
    """Start a run and kill it as soon as it has got to some place."""
    process = start(home)
    deadline = time.monotonic() + 300
    while not reached():
        assert process.poll() is None, (home / "log.txt").read_text("utf-8")[-3000:]
        assert time.monotonic() < deadline, "the run never got there"
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()


def facts(home: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What the last run ended with, by ids instead of keys."""
    with Warehouse(home / "warehouse.duckdb").read() as connection:
        candidates = connection.sql(
            "SELECT query_id, passage_id, rank, student_score, logit, probability, verdict, reason, weight "
            "FROM scored_candidates WHERE run = (SELECT max(run) FROM scored_candidates) ORDER BY ALL"
        ).pl()
        measures = connection.sql(
            "SELECT system, split, measure, value FROM leaderboard "
            "WHERE run = (SELECT max(run) FROM leaderboard) ORDER BY ALL"
        ).pl()
    return candidates, measures


def test_killed_while_scoring_and_while_training_it_ends_the_same(tmp_path: Path, tiny_student: Path) -> None:
    """Pitfalls 4 and 28: half a step taken for whole, or a resumed run that differs from an uninterrupted one."""
    whole = make_home(tmp_path / "whole", tiny_student)
    finish(whole)
    killed = make_home(tmp_path / "killed", tiny_student)
    artifacts = killed / "data" / "artifacts"
    planned = len(list((whole / "data" / "artifacts" / "shards").glob("*/*.parquet")))
    assert planned >= 8

    def scores() -> bool:
        return len(list((artifacts / "shards").glob("*/*.parquet"))) >= planned // 2

    kill_when(killed, scores)
    found = sorted(path.name for path in (artifacts / "shards").glob("*/*.parquet"))
    assert planned // 2 <= len(found) < planned, "it was not killed in the middle of scoring"
    kept = {path: path.stat().st_mtime_ns for path in (artifacts / "shards").glob("*/*.parquet")}

    def trains() -> bool:
        return any((artifacts / "train").glob("*.tmp-*")) and any((artifacts / "state").glob("*/best-*.safetensors"))

    kill_when(killed, trains)
    assert not list((artifacts / "train").glob("*/artifact.json")), "it was not killed in the middle of training"
    finish(killed)

    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "a finished shard was scored again"
    for ours, theirs in zip(facts(killed), facts(whole), strict=True):
        assert ours.height > 0
        assert ours.equals(theirs)
    assert quality(Warehouse(killed / "warehouse.duckdb")).height == 0
    assert not list(artifacts.glob("*/*.tmp-*"))


def test_two_writers_killed_again_and_again_lose_double_and_tear_nothing(tmp_path: Path, tiny_teacher: Path) -> None:
    """Pitfalls 4, 44 and 45: kills at random moments, two writers, and a reader who never waits long."""
    sys.path.append(str(ROOT / "benchmarks"))  # what is measured there is what is tested here
    from harness.fire import under_fire

    outcome = under_fire(tmp_path, write_words(tmp_path / "data", 150), tiny_teacher, pairs=1500, kills=20)
    assert outcome.sound, outcome
    assert outcome.counts["kills"] >= 20 and min(outcome.counts["reads"], outcome.counts["snapshots"]) >= 20
    assert outcome.longest_wait < 1.0
