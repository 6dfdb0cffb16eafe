"""Many processes and threads, one file: everybody gets a turn, and whoever waits is told for whom."""

import json
import logging
import multiprocessing
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pytest
import warehouse_samples as sample
from other_program import hold

from warehouse.connect import Warehouse
from warehouse.errors import WarehouseBusy, WarehouseError
from warehouse.holders import describe_process, holder_path, read_holder
from warehouse.load import start_run


def start_many(path: Path, count: int) -> None:
    for number in range(count):
        start_run(Warehouse(path), "distill", f"{os.getpid()}-{number}", "{}", {})


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    """Pitfall 44: two runs at once writing one DuckDB file. Both also find no file at first."""
    path = tmp_path / "warehouse.duckdb"
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=start_many, args=(path, 8)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    found = sample.rows(Warehouse(path), "SELECT run_id, recipe FROM runs ORDER BY run_id")
    assert [run for run, _ in found] == list(range(1, 17))
    assert len({recipe for _, recipe in found}) == 16


def test_threads_of_one_process_take_turns(tmp_path: Path) -> None:
    """DuckDB refuses a reading and a writing connection side by side in one process."""
    wh, _ = sample.open_warehouse(tmp_path)
    errors: list[BaseException] = []

    def work(write: bool) -> None:
        try:
            for _ in range(5):
                if write:
                    start_run(wh, "distill", "sample", "{}", {})
                else:
                    assert sample.rows(wh, "SELECT count(*) FROM runs")[0][0] >= 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number % 2 == 0,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sample.rows(wh, "SELECT count(*) FROM runs") == [(16,)]


def test_two_threads_read_at_the_same_time(tmp_path: Path) -> None:
    wh, _ = sample.open_warehouse(tmp_path)
    both = threading.Barrier(2, timeout=20)

    def read() -> None:
        with wh.read() as con:
            both.wait()
            con.execute("SELECT 1").fetchall()

    thread = threading.Thread(target=read)
    thread.start()
    read()
    thread.join()
    assert not both.broken


def test_a_connection_inside_a_connection_is_refused_at_once(tmp_path: Path) -> None:
    wh, _ = sample.open_warehouse(tmp_path)
    for outer, inner in ((wh.write, wh.read), (wh.read, wh.write), (wh.write, wh.write)):
        with outer(), pytest.raises(WarehouseError, match="this thread has the warehouse open already"), inner():
            pass
    assert sample.rows(wh, "SELECT count(*) FROM runs") == [(1,)]


@pytest.mark.parametrize("way", ["read", "write"])
def test_readers_and_writers_wait_for_another_program_and_then_go_on(tmp_path: Path, way: str) -> None:
    """Pitfall 45: a reader locking the pipeline out."""
    wh, _ = sample.open_warehouse(tmp_path)
    other = hold(wh.path, "write", 1.0)
    began = time.monotonic()
    with wh.read() if way == "read" else wh.write() as con:
        assert con.execute("SELECT count(*) FROM runs").fetchall() == [(1,)]
    assert time.monotonic() - began > 0.5
    assert other.wait() == 0


def test_a_reader_beside_another_reader_does_not_wait(tmp_path: Path) -> None:
    wh, _ = sample.open_warehouse(tmp_path)
    other = hold(wh.path, "read", 60)
    assert sample.rows(Warehouse(wh.path, lock_seconds=20), "SELECT count(*) FROM runs") == [(1,)]
    assert other.poll() is None
    other.kill()
    other.wait()


def test_at_the_deadline_the_error_names_the_holder(tmp_path: Path) -> None:
    wh, _ = sample.open_warehouse(tmp_path)
    other = hold(wh.path, "read", 60)
    named = (
        rf"held for \d+ s by process {other.pid} \(.*python.*running since 20\d\d-.*nothing that was computed is lost"
    )
    with pytest.raises(WarehouseBusy, match=named), Warehouse(wh.path, lock_seconds=0.3).write():
        pass
    other.kill()
    other.wait()
    assert start_run(wh, "distill", "sample", "{}", {}) == 2


def test_a_long_wait_is_logged_with_the_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    wh, _ = sample.open_warehouse(tmp_path)
    monkeypatch.setattr("warehouse.holders.FIRST_NOTICE", 0.1)
    monkeypatch.setattr("warehouse.holders.NEXT_NOTICE", 60.0)
    other = hold(wh.path, "write", 1.0)
    with caplog.at_level(logging.WARNING, "remine.warehouse"), wh.read():
        pass
    assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) == 1
    named = (
        rf"is held by process {other.pid} \(\S*python.*duckdb.*, running since 20\d\d-\d\d-\d\dT.*; waiting since \d"
    )
    assert re.search(named, caplog.text, re.DOTALL)
    other.wait()


def test_a_waiting_writer_names_the_operation_of_the_writer_before_it(tmp_path: Path) -> None:
    wh, _ = sample.open_warehouse(tmp_path)
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom warehouse.connect import Warehouse\n"
        "with Warehouse(Path(sys.argv[1])).write('load shard 7'):\n    print('held', flush=True)\n    time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", script, str(wh.path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    assert json.loads(holder_path(wh.path).read_text("utf-8"))["pid"] == other.pid
    with pytest.raises(WarehouseBusy, match=rf"process {other.pid} .*, to load shard 7, since 20"):
        start_run(Warehouse(wh.path, lock_seconds=0.3), "distill", "sample", "{}", {})
    with pytest.raises(WarehouseBusy, match=rf"process {other.pid} .*, to load shard 7, since 20"):
        sample.rows(Warehouse(wh.path, lock_seconds=0.3), "FROM runs")
    # Killed in its transaction, it leaves neither a lock nor a trace.
    other.kill()
    other.wait()
    assert start_run(wh, "distill", "sample", "{}", {}) == 2
    assert read_holder(wh.path) == {}


def test_a_process_that_is_gone_is_named_by_its_number() -> None:
    assert describe_process(2**22 + 1) == f"process {2**22 + 1}"
    assert "python" in describe_process(os.getpid())


def test_reading_a_warehouse_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="does not exist; the first run makes it"):
        sample.rows(Warehouse(tmp_path / "warehouse.duckdb"), "FROM runs")
    assert list(tmp_path.iterdir()) == []


def test_another_programs_file_is_not_taken_for_a_warehouse(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "other.duckdb")).close()
    with pytest.raises(WarehouseError, match="holds no tables of ours"):
        sample.rows(Warehouse(tmp_path / "other.duckdb"), "FROM runs")
