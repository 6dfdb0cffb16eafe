"""One run at a time per warehouse."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flows.locks import Busy, run_lock

HOLD = """
import sys
from pathlib import Path
from flows.locks import run_lock
with run_lock(Path(sys.argv[1]), "nightly"):
    print("held", flush=True)
    sys.stdin.readline()
"""


def holder(home: Path) -> "subprocess.Popen[str]":
    root = Path(__file__).parents[1]
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_run_is_told_who_the_first_is(tmp_path: Path) -> None:
    """Pitfall 44: two runs at once writing one DuckDB file."""
    first = holder(tmp_path)
    with pytest.raises(Busy, match=rf"'nightly' \(process {first.pid}, since 20"), run_lock(tmp_path, "mine"):
        pass
    first.communicate("\n")
    with run_lock(tmp_path, "mine"):
        pass


def test_a_killed_run_leaves_the_warehouse_free(tmp_path: Path) -> None:
    first = holder(tmp_path)
    first.kill()
    first.wait()
    with run_lock(tmp_path, "mine"):
        text = (tmp_path / "warehouse.duckdb.run.json").read_text("utf-8")
    assert f'"pid": {os.getpid()}' in text


def test_the_note_goes_when_the_run_ends(tmp_path: Path) -> None:
    with pytest.raises(KeyError), run_lock(tmp_path, "mine"):
        raise KeyError
    assert not (tmp_path / "warehouse.duckdb.run.json").exists()
