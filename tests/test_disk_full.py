"""A full disk: one clear sentence, nothing corrupt, and the next run goes on."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pytest
import warehouse_samples as sample
from scoring_bench import PASSAGES, QUERIES, Counting, open_bench
from tiny_corpus import frames

from tasks.artifacts import make_artifact
from tasks.refs import TeacherRef
from tasks.run import opened_run
from tasks.score.settings import Scoring
from tasks.score.shards import write_shard
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.disk import DiskFull, is_full
from warehouse.errors import WarehouseError
from warehouse.load import load_corpus, load_scores, register_model, start_run
from warehouse.queries import quality
from warehouse.snapshot import publish, snapshot_path

MANY = [f"passage number {number}" for number in range(1000)]
ASKED = {f"query number {number}": "train" for number in range(200)}
TOLD = r"no room to {work}; [\d.,]+ MiB are free on the disk of {home}.*make room and run again"
LOAD = """
import resource, sys
from pathlib import Path
from warehouse.connect import Warehouse
from warehouse.load import load_scores
path, shard = map(Path, sys.argv[1:3])
most = path.stat().st_size + int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
load_scores(Warehouse(path), 1, "t1", shard, "many", {})
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MB."""
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(path)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"only root may mount a small disk: {mounted.stderr.decode().strip()}")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(disk: Path, left: int) -> Path:
    """Fill a disk until so many bytes are left; returns the file to delete."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize - left)
    return ballast


def many(home: Path, elsewhere: Path) -> tuple[Warehouse, Path]:
    """A warehouse with 200,000 pairs to load."""
    corpus = elsewhere / "corpus"
    corpus.mkdir()
    tables = frames(MANY, ASKED, [])
    for name, table in tables.items():
        table.write_parquet(corpus / f"{name}.parquet")
    wh = Warehouse(home / "warehouse.duckdb")
    load_corpus(wh, start_run(wh, "distill", "full", "{}", {}), "toy", corpus, "corpus-1")
    register_model(wh, "teacher", "big", "t1", {})
    pairs = (
        tables["queries"].select(query_hash="hash").join(tables["passages"].select(passage_hash="hash"), how="cross")
    )
    numbers = pl.int_range(pl.len())
    shard = pairs.with_columns(
        logit=(numbers * 7919 % 100_003).cast(pl.Float32) / 1000,
        n_tokens=(numbers * 31 % 97 + 3).cast(pl.Int32),
        truncated=pl.lit(False),
    )
    shard.write_parquet(elsewhere / "many.parquet")
    return wh, elsewhere / "many.parquet"


def stored(wh: Warehouse) -> list[tuple[object, ...]]:
    return sample.rows(wh, "SELECT count(*), (SELECT count(*) FROM shard_loads) FROM teacher_scores")


@pytest.mark.parametrize("left", [0, 100_000, 1_000_000])
def test_a_load_that_does_not_fit_changes_nothing_and_fits_later(tmp_path: Path, disk: Path, left: int) -> None:
    wh, shard = many(disk, tmp_path)
    ballast = fill(disk, left)
    with pytest.raises(DiskFull, match=TOLD.format(work="load many", home=disk)):
        load_scores(wh, 1, "t1", shard, "many", {})
    assert stored(wh) == [(0, 0)]
    ballast.unlink()
    assert load_scores(wh, 1, "t1", shard, "many", {}) == 200_000
    assert stored(wh) == [(200_000, 1)] and quality(wh).height == 0


def test_a_load_that_fits_only_beside_the_file_is_kept(tmp_path: Path, disk: Path) -> None:
    """Committed to the log, while the file has no room to take it over: what was acknowledged must not go."""
    wh, shard = many(disk, tmp_path)
    ballast = fill(disk, 1_400_000)
    assert load_scores(wh, 1, "t1", shard, "many", {}) == 200_000
    assert Path(f"{wh.path}.wal").exists(), "the disk was not full, so this test shows nothing"
    assert stored(wh) == [(200_000, 1)]
    with pytest.raises(WarehouseError, match=r"\.wal is still there: .* or the disk has no room"):
        publish(wh)
    ballast.unlink()
    publish(wh)
    assert stored(wh) == stored(Warehouse(snapshot_path(wh))) == [(200_000, 1)] and quality(wh).height == 0


@pytest.mark.parametrize("more", [0, 300_000])
def test_a_load_beyond_the_largest_file_allowed_changes_nothing(tmp_path: Path, more: int) -> None:
    wh, shard = many(tmp_path, tmp_path)
    command = [sys.executable, "-c", LOAD, str(wh.path), str(shard), str(more)]
    told = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert told.returncode == 1 and "no room to load many" in told.stderr
    assert stored(wh) == [(0, 0)]
    assert load_scores(wh, 1, "t1", shard, "many", {}) == 200_000
    assert quality(wh).height == 0


def test_a_disk_that_fills_up_while_scoring_keeps_the_finished_shards(
    tmp_path: Path, disk: Path, tiny_teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pitfall 4. And the shards after it are not computed for nothing: none of them could be written either."""
    counting = Counting(monkeypatch)
    teacher = TeacherRef(fingerprint="teacher-one-fingerprint", path=tiny_teacher, name="tiny")
    whole = open_bench(tmp_path / "whole", teacher)
    expected = pl.read_parquet(whole.score(whole.pairs(list(QUERIES), PASSAGES)).file("scores.parquet"))
    bench = open_bench(disk, teacher)
    pairs = bench.pairs(list(QUERIES), PASSAGES)
    calls = 0

    def before(_: Sequence[tuple[str, str]]) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            while not bench.stored(pairs).height:  # the first shard is loaded beside the scoring
                time.sleep(0.01)
            fill(disk, 0)

    counting.before = before
    with pytest.raises(DiskFull, match=TOLD.format(work="write a shard", home=disk)):
        bench.score(pairs)
    assert calls == 2 and len(bench.shard_files()) == 1
    assert not [path for path in bench.root.rglob("*") if "tmp-" in path.name]
    (disk / "ballast").unlink()
    kept = pl.read_parquet(bench.shard_files()[0]).height
    counting.pairs.clear()
    assert pl.read_parquet(bench.score(pairs).file("scores.parquet")).equals(expected)
    assert len(counting.pairs) == 180 - kept > 0


def test_a_snapshot_that_does_not_fit_leaves_the_last_one(tmp_path: Path, disk: Path) -> None:
    wh, shard = many(disk, tmp_path)
    publish(wh)
    load_scores(wh, 1, "t1", shard, "many", {})
    ballast = fill(disk, 600_000)
    with pytest.raises(DiskFull, match=TOLD.format(work="publish a snapshot", home=disk)):
        publish(wh)
    assert stored(Warehouse(snapshot_path(wh))) == [(0, 0)]
    assert not list(disk.glob("*.tmp-*"))
    ballast.unlink()
    publish(wh)
    assert stored(Warehouse(snapshot_path(wh))) == [(200_000, 1)]


def test_what_a_run_failed_with_is_told_even_where_its_end_cannot_be_written_down(disk: Path) -> None:
    """The second error would hide the first, which says what to do."""
    where = Where(home=disk, lock_seconds=5)
    with pytest.raises(ValueError, match="the first error"), opened_run("distill", "full", Scoring(), where):
        fill(disk, 0)
        raise ValueError("the first error")


def test_a_shard_and_an_artifact_that_do_not_fit_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a small disk: the system's error is put in where data is flushed."""
    frame = pl.DataFrame(
        {"query_hash": [1], "passage_hash": [2], "logit": [0.5], "n_tokens": [7], "truncated": [False]}
    )

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("tasks.score.shards.sync", full)
    monkeypatch.setattr("tasks.artifacts.sync", full)
    home = tmp_path / "home"
    with pytest.raises(DiskFull, match=r"one\.parquet: no room to write a shard"):
        write_shard(home / "one.parquet", frame, {})
    with pytest.raises(DiskFull, match="no room to write the mine artifact"):
        make_artifact(home, "mine", 1, {}, {}, lambda folder: {"bytes": (folder / "a").write_text("a")})
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_other_errors_are_not_taken_for_a_full_disk() -> None:
    assert is_full(OSError(errno.EDQUOT, "x")) and is_full(RuntimeError("IO Error: No space left on device"))
    assert not is_full(FileNotFoundError(errno.ENOENT, "x")) and not is_full(ValueError("space"))
