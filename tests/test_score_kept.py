"""What the teacher has computed survives kills, locks, lost files and a lost warehouse."""

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from scoring_bench import PASSAGES, QUERIES, Bench, Counting, open_bench

from tasks.record import warehouse_of
from tasks.refs import TeacherRef
from tasks.score.shards import read_where, write_shard


@pytest.fixture
def teacher(tiny_teacher: Path) -> TeacherRef:
    return TeacherRef(fingerprint="teacher-one-fingerprint", path=tiny_teacher, name="tiny")


@pytest.fixture
def bench(tmp_path: Path, teacher: TeacherRef) -> Bench:
    return open_bench(tmp_path, teacher)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    return Counting(monkeypatch)


def stop_at(number: int, counting: Counting, error: type[BaseException] = KeyboardInterrupt) -> None:
    """Interrupt the work in the middle of the given shard, as a signal or an error would."""
    seen = 0

    def before(pairs: Sequence[tuple[str, str]]) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            raise error

    counting.before = before


def test_an_interrupted_run_goes_on_and_ends_bit_equal(tmp_path: Path, teacher: TeacherRef, counting: Counting) -> None:
    """Pitfall 4: what was cut off in the middle taken for whole, or all computed again in other batches."""
    whole = open_bench(tmp_path / "whole", teacher)
    expected = pl.read_parquet(whole.score(whole.pairs(list(QUERIES), PASSAGES)).file("scores.parquet"))
    cut_off = open_bench(tmp_path / "cut", teacher)
    pairs = cut_off.pairs(list(QUERIES), PASSAGES)
    stop_at(3, counting)
    with pytest.raises(KeyboardInterrupt):
        cut_off.score(pairs)
    kept = cut_off.shard_files()
    assert len(kept) == 2
    counting.pairs.clear()
    counting.before = lambda pairs: None
    artifact = cut_off.score(pairs)
    assert len(counting.pairs) == 180 - sum(pl.read_parquet(path).height for path in kept)
    assert pl.read_parquet(artifact.file("scores.parquet")).equals(expected)
    assert [path.name.partition("-")[2] for path in cut_off.shard_files()] == [f"{n:04d}.parquet" for n in range(4)]
    assert artifact.facts["new"] == 180


def test_a_lost_file_of_scores_that_are_stored_is_not_computed_again(bench: Bench, counting: Counting) -> None:
    pairs = bench.pairs(list(QUERIES), PASSAGES)
    stop_at(3, counting, ValueError)
    with pytest.raises(RuntimeError, match="1 of 4 shards failed"):
        bench.score(pairs)
    stored = bench.stored(pairs).height
    assert stored == sum(pl.read_parquet(path).height for path in bench.shard_files())
    bench.shard_files()[0].unlink()
    counting.pairs.clear()
    counting.before = lambda pairs: None
    bench.score(pairs)
    assert len(counting.pairs) == 180 - stored


def test_a_finished_shard_that_was_not_loaded_is_loaded_not_computed(
    bench: Bench, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill between renaming a shard and loading it must not cost the shard."""
    pairs = bench.pairs(list(QUERIES), PASSAGES)
    with monkeypatch.context() as patch:
        patch.setattr("tasks.score.loading.load_scores", lambda *args: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(RuntimeError, match=r"shards are kept in .*disk full; run again to load them"):
            bench.score(pairs)
    assert len(bench.shard_files()) == 4 and not bench.stored(pairs).height
    counting.pairs.clear()
    bench.score(pairs)
    assert counting.pairs == [] and bench.stored(pairs).height == 180


def test_a_deleted_warehouse_is_filled_from_shards(bench: Bench, counting: Counting) -> None:
    pairs = bench.pairs(list(QUERIES), PASSAGES)
    bench.score(pairs)
    before = bench.stored(pairs)
    bench.run.where.warehouse_path.unlink()
    counting.pairs.clear()
    again = open_bench(bench.home, bench.teacher)
    again.score(pairs)
    assert counting.pairs == [] and again.stored(pairs).equals(before)


def test_a_deleted_warehouse_without_shards_is_filled_from_the_artifact(bench: Bench, counting: Counting) -> None:
    pairs = bench.pairs(list(QUERIES), PASSAGES)
    bench.score(pairs)
    before = bench.stored(pairs)
    bench.run.where.warehouse_path.unlink()
    for path in bench.shard_files():
        path.unlink()
    counting.pairs.clear()
    again = open_bench(bench.home, bench.teacher)
    again.score(pairs)
    assert counting.pairs == [] and again.stored(pairs).equals(before)


def test_shards_of_texts_that_only_another_corpus_has_wait_for_it(bench: Bench, counting: Counting) -> None:
    """A restored shard must never point at another text, nor keep a run from starting."""
    pairs = bench.pairs(list(QUERIES), PASSAGES)
    bench.score(pairs)
    bench.run.where.warehouse_path.unlink()
    counting.pairs.clear()
    smaller = open_bench(bench.home, bench.teacher, PASSAGES[:5])
    few = smaller.pairs(list(QUERIES), PASSAGES[:5])
    smaller.score(few)
    assert smaller.stored(pairs).height == 30
    shutil.rmtree(bench.root / "score")
    whole = open_bench(bench.home, bench.teacher)
    whole.score(pairs)
    assert counting.pairs == [] and whole.stored(pairs).height == 180


def test_lost_shards_of_a_finished_plan_are_planned_anew(bench: Bench, counting: Counting) -> None:
    """Warehouse, artifact and some shards gone: what is left is used, the rest scored again."""
    pairs = bench.pairs(list(QUERIES), PASSAGES)
    expected = pl.read_parquet(bench.score(pairs).file("scores.parquet"))
    bench.run.where.warehouse_path.unlink()
    shutil.rmtree(bench.root / "score")
    lost = pl.read_parquet(bench.shard_files()[1]).height
    bench.shard_files()[1].unlink()
    counting.pairs.clear()
    again = open_bench(bench.home, bench.teacher)
    assert pl.read_parquet(again.score(pairs).file("scores.parquet")).equals(expected)
    assert len(counting.pairs) == lost


def test_pairs_pending_after_the_plan_is_done_get_a_second_plan(bench: Bench, counting: Counting) -> None:
    """Reused scores were lost together with the warehouse and their shards: the plan at hand never had them."""
    earlier = bench.pairs(list(QUERIES), PASSAGES[:6])
    bench.score(earlier)
    lost = bench.shard_files()
    pairs = bench.pairs(list(QUERIES), PASSAGES[3:9])
    bench.score(pairs)
    bench.run.where.warehouse_path.unlink()
    shutil.rmtree(bench.root / "score")
    for path in lost:
        path.unlink()
    counting.pairs.clear()
    again = open_bench(bench.home, bench.teacher)
    again.score(pairs)
    assert {passage for _, passage in counting.pairs} == set(PASSAGES[3:6]) and len(counting.pairs) == 18
    assert again.stored(pairs).height == 36


def test_scoring_goes_on_while_somebody_holds_the_warehouse(bench: Bench, counting: Counting) -> None:
    """Pitfall 45: a reader that keeps the file open must delay loading, never scoring."""
    pairs = bench.pairs(list(QUERIES), PASSAGES)
    held, release = threading.Event(), threading.Event()
    seen: list[bool] = []

    def hold() -> None:
        with warehouse_of(bench.run.where).read():
            held.set()
            release.wait(6)

    reader = threading.Thread(target=hold)

    def before(pairs: Sequence[tuple[str, str]]) -> None:
        if not reader.is_alive() and not seen:
            reader.start()
            held.wait(5)
        seen.append(reader.is_alive())
        if len(seen) == 4:
            threading.Timer(0.3, release.set).start()

    counting.before = before
    bench.score(pairs)
    reader.join()
    assert seen == [True] * 4 and bench.stored(pairs).height == 180


def test_a_shard_says_where_it_was_computed(bench: Bench) -> None:
    bench.score(bench.pairs(list(QUERIES), PASSAGES))
    where = read_where(bench.shard_files()[0])
    assert (where["precision"], where["device"]) == ("fp32", "cpu")
    assert where["seconds"] > 0 and "torch" in where["versions"]
    with warehouse_of(bench.run.where).read() as connection:
        rows = connection.execute(
            "SELECT name, precision, device, seconds > 0, n_rows = n_new FROM shard_loads"
        ).fetchall()
    assert len(rows) == 4 and all(row[1:] == ("fp32", "cpu", True, True) for row in rows)


def test_a_shard_that_cannot_be_finished_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pitfall 4: half a file under the whole file's name; left-overs of a killed process are cleared away."""
    frame = pl.DataFrame(
        {"query_hash": [1], "passage_hash": [2], "logit": [0.5], "n_tokens": [7], "truncated": [False]}
    )
    path = tmp_path / "shards" / "one-0000.parquet"
    path.parent.mkdir()
    (path.parent / f"{path.name}.tmp-1").write_text("cut off")

    def full(*args: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tasks.score.shards.sync", full)
        with pytest.raises(OSError, match="no space left"):
            write_shard(path, frame, {"seconds": 1.0})
    assert list(path.parent.iterdir()) == []
    write_shard(path, frame, {"seconds": 1.0})
    assert [item.name for item in path.parent.iterdir()] == [path.name]
    assert read_where(path) == {"seconds": 1.0}


def test_a_foreign_file_among_the_shards_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(ValueError, match="is not a shard of ours"):
        read_where(path)
