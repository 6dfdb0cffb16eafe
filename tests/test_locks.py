"""One run at a time per warehouse."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flows.locks import Busy, run_lock

if TYPE_CHECKING:
    from flows.recipe import Recipe

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


def recipe(name: str) -> "Recipe":
    from flows.recipe import Recipe

    return Recipe.model_validate({"name": name, "source": {"path": "data"}, "student": {"model": "student"}})


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


def test_a_second_run_ends_as_cancelled_and_names_the_first(tmp_path: Path) -> None:
    """Pitfall 44, through the flow's own door; the second leaves no trace in the warehouse of the first."""
    from flows.invocation import exclusively
    from tasks.where import Where

    first = holder(tmp_path)
    state = exclusively("distill", lambda run, settings: pytest.fail("it ran"), recipe("mine"), Where(home=tmp_path))
    assert state.is_cancelled()
    assert f"the run of 'nightly' (process {first.pid}, since 20" in state.message
    assert not (tmp_path / "warehouse.duckdb").exists()
    first.communicate("\n")


def test_a_killed_run_is_closed_as_crashed_by_the_next(tmp_path: Path) -> None:
    """Left as it is, it says for ever that it is running."""
    from flows.invocation import exclusively
    from tasks.where import Where
    from warehouse.connect import Warehouse
    from warehouse.load import start_run
    from warehouse.queries import run_rows

    wh = Warehouse(tmp_path / "warehouse.duckdb")
    start_run(wh, "distill", "killed", "{}", {})
    seen = exclusively("distill", lambda run, settings: run_rows(wh), recipe("next"), Where(home=tmp_path))
    assert seen.select("run", "status").rows() == [(2, "running"), (1, "crashed")]
    found = run_rows(wh).select("run", "status", "error", "seconds").rows()
    assert [row[1] for row in found] == ["completed", "crashed"]
    assert found[1][2:] == ("killed: it ended without a word", 0.0)


def test_the_note_goes_when_the_run_ends(tmp_path: Path) -> None:
    with pytest.raises(KeyError), run_lock(tmp_path, "mine"):
        raise KeyError
    assert not (tmp_path / "warehouse.duckdb.run.json").exists()
