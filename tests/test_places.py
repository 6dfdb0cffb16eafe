"""A place where a person's file cannot be written is refused in one way by every command, before any work."""

import os
import re
from pathlib import Path

import pytest
import warehouse_samples as sample
from command import Remine

from tasks.replacing import check_place, replacing

# Each asks for what is not there, too: whoever looks at that first has begun to work.
COMMANDS = {
    "sql": ["sql", "FROM nothing", "--format", "csv", "--out"],
    "report": ["report", "9", "--out"],
    "review": ["review", "export", "--run", "9", "--out"],
    "lists": ["lists", "export", "9", "--format", "trec", "--out"],
    "init": ["init", "nothing", "--out"],
}
PLACES = {
    "missing/answer.csv": "missing: there is no such folder to write answer.csv into",
    "folder": "folder(.csv)? is (a folder; needed the name of a file|there already)",
    "file/answer.csv": "file: there is no such folder to write answer.csv into",
    "new.duckdb": "new.duckdb: that would be taken for a warehouse",
    f"{'x' * 250}.csv": "File name too long",
    "/sys/answer.csv": "/sys/answer.csv: cannot be written: (Permission denied|Operation not permitted|Read-only)",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    sample.played(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("out", PLACES, ids=range(len(PLACES)))
def test_a_bad_place_is_refused_before_anything_is_done(remine: Remine, place: Path, command: str, out: str) -> None:
    """A query of an hour, and then no place for its answer."""
    if out.startswith("/sys") and not Path("/sys").is_dir():
        pytest.skip("no /sys here")
    before = sorted(place.iterdir())
    told = remine(*COMMANDS[command], out, cwd=place)
    assert told.returncode == 1
    assert told.stderr.startswith("remine: ") and "Traceback" not in told.stderr and "foreseen" not in told.stderr
    assert re.search(PLACES[out], told.stderr), told.stderr
    assert sorted(place.iterdir()) == before


def test_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    """Root would put a file in the place of /dev/null, for every program of the machine."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileExistsError, match="is a device or a pipe"):
        check_place(tmp_path / "pipe")


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "answer.csv").write_text("old", "utf-8")
    (tmp_path / "answer.csv").symlink_to(tmp_path / "shared" / "answer.csv")
    check_place(tmp_path / "answer.csv")
    with replacing(tmp_path / "answer.csv") as beside:
        beside.write_text("new", "utf-8")
    assert (tmp_path / "answer.csv").is_symlink()
    assert (tmp_path / "shared" / "answer.csv").read_text("utf-8") == "new"
    assert sorted(path.name for path in (tmp_path / "shared").iterdir()) == ["answer.csv"]
