"""The snapshot: a whole copy that anybody may read while a run writes."""

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
import warehouse_samples as sample

from warehouse.connect import Warehouse
from warehouse.load import start_run
from warehouse.snapshot import publish


@pytest.fixture
def mine(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Warehouse:
    """A warehouse alone in its folder."""
    folder = tmp_path_factory.mktemp("played")
    opened, run = sample.open_warehouse(folder)
    sample.play_round(opened, run, folder)
    return Warehouse(Path(shutil.copy(opened.path, tmp_path)))


def test_the_snapshot_is_a_whole_read_only_copy_that_says_its_age(mine: Warehouse) -> None:
    path = publish(mine)
    assert path.name == "warehouse.snapshot.duckdb"
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    with duckdb.connect(str(path), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM scored_candidates").fetchall() == [(6,)]
        told = "SELECT run, recipe, status, age_seconds BETWEEN 0 AND 300, published_at <= now() FROM snapshot_info"
        assert con.execute(told).fetchall() == [(1, "sample", "running", True, True)]
    left = {item.name for item in path.parent.iterdir()} - {"warehouse.duckdb.lock"}
    assert left == {"warehouse.duckdb", "warehouse.snapshot.duckdb"}


def test_a_new_snapshot_replaces_the_old_one_under_its_readers(mine: Warehouse) -> None:
    path = publish(mine)
    reader = duckdb.connect(str(path), read_only=True)
    # A write-ahead log that somebody left beside the old snapshot would be applied to the new one.
    Path(f"{path}.wal").write_bytes(b"stale")
    start_run(mine, "distill", "sample", "{}", {})
    inode = path.stat().st_ino
    assert publish(mine, every=3600) == path
    assert path.stat().st_ino == inode, "a young snapshot is left as it is"
    publish(mine)
    assert reader.execute("SELECT count(*) FROM runs").fetchall() == [(1,)]
    reader.close()
    assert not Path(f"{path}.wal").exists()
    count = (
        "import duckdb, sys; con = duckdb.connect(sys.argv[1], read_only=True); "
        "print(con.execute('SELECT count(*) FROM runs').fetchall())"
    )
    answer = subprocess.run([sys.executable, "-c", count, str(path)], capture_output=True, text=True, check=True)
    assert answer.stdout == "[(2,)]\n"


def test_publishing_keeps_writers_out_while_it_copies(mine: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy made through a file API in the process that has the file open would drop DuckDB's lock."""
    real = subprocess.run
    tried: list[str] = []

    def copy(command: list[str], **options: bool) -> object:
        script = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('DELETE FROM runs')"
        other = real([sys.executable, "-c", script, str(mine.path)], capture_output=True, text=True, check=False)
        tried.append(other.stderr)
        return real(command, check=True)

    monkeypatch.setattr(subprocess, "run", copy)
    publish(mine)
    assert len(tried) == 1
    assert "Could not set lock on file" in tried[0]
