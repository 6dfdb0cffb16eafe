"""`remine doctor`: every line says how it stands, and what to do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from command import Remine
from sources import write_words

from flows.doctor import examine
from flows.finding import Finding, examined
from flows.locks import run_lock
from flows.recipe import Recipe
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.load import start_run


def found(home: Path, recipe: Recipe | None = None) -> dict[str, Finding]:
    return {each.name: each for each in examine(Where(home=home), recipe)}


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("PREFECT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setattr("flows.doctor.PATIENCE", 0.3)


def test_an_empty_folder_is_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    lines = found(tmp_path)
    bad = {name: line.told for name, line in lines.items() if line.state != "good"}
    assert bad.keys() <= {"versions", "disk"}, bad
    assert len(lines) >= 11
    assert not list(tmp_path.iterdir()), "looking makes nothing"


def test_every_line_that_is_not_good_says_what_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("models.runtime.available_cores", lambda: 8)
    start_run(Warehouse(home / "warehouse.duckdb"), "distill", "nightly", "{}", {})
    (home / "data/artifacts/encode/abc.tmp-1").mkdir(parents=True)
    (home / "data/artifacts/encode/abc.tmp-1/half.npy").write_bytes(b"x" * 5000)
    lines = found(home)
    for name in ("unfinished runs", "left-over files", "threads"):
        assert lines[name].state == "look" and lines[name].todo, lines[name]
    assert "run 3 was killed" in lines["unfinished runs"].told and "remine resume 3" in lines["unfinished runs"].todo
    assert "4.9 KiB" in lines["left-over files"].told
    assert all(line.todo for line in lines.values() if line.state != "good")


def test_a_failed_run_is_told_with_its_reason(home: Path) -> None:
    line = found(home)["unfinished runs"]
    assert line.state == "look" and "run (2) ended as failed" in line.told


def test_a_run_that_goes_on_is_no_killed_one(home: Path) -> None:
    start_run(Warehouse(home / "warehouse.duckdb"), "distill", "nightly", "{}", {})
    with run_lock(home, "nightly"):
        lines = found(home)
    assert "'nightly'" in lines["run lock"].told and str(os.getpid()) in lines["run lock"].told
    assert "killed" not in lines["unfinished runs"].told


def test_whoever_holds_the_warehouse_is_named(home: Path) -> None:
    script = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.readline()"
    path = str(home / "warehouse.duckdb")
    holder = subprocess.Popen(
        [sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    try:
        lines = found(home)
    finally:
        holder.communicate("\n", timeout=20)
    assert lines["warehouse"].state == "look" and str(holder.pid) in lines["warehouse"].told
    assert lines["ledger"].state == "bad", "what cannot be asked is no good line"


def test_a_file_of_a_newer_storage_is_told(tmp_path: Path) -> None:
    if duckdb.__version__ < "1.5":
        pytest.skip("this DuckDB writes the old storage")
    whole = Warehouse(tmp_path / "whole.duckdb")
    start_run(whole, "distill", "nightly", "{}", {})
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{tmp_path}/warehouse.duckdb' AS new (STORAGE_VERSION 'v1.5.0')")
        connection.execute(f"ATTACH '{tmp_path}/whole.duckdb' AS old (READ_ONLY)")
        connection.execute("COPY FROM DATABASE old TO new")
    line = found(tmp_path)["storage"]
    assert line.state == "look" and "v1.5" in line.told


def test_rows_that_the_ledger_does_not_know_are_bad(home: Path) -> None:
    with Warehouse(home / "warehouse.duckdb").write("break") as connection:
        connection.execute("INSERT INTO teacher_scores SELECT 7, 1, 1, 0.5, 3, false, 1, now()")
    line = found(home)["ledger"]
    assert line.state == "bad" and "orphan_scores" in line.told


def test_a_configured_server_that_is_away_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    line = found(tmp_path)["server"]
    assert line.state == "bad" and "127.0.0.1:9" in line.told and "unset PREFECT_API_URL" in line.todo


def test_a_model_that_is_nowhere_is_bad(tmp_path: Path) -> None:
    data = write_words(tmp_path / "data", 10)
    recipe = Recipe.model_validate(
        {"name": "x", "source": {"path": str(data)}, "student": {"model": "package:nowhere/model"}}
    )
    line = found(tmp_path, recipe)["models"]
    assert line.state == "bad" and "nowhere" in line.told and line.todo


def test_a_check_that_fails_is_a_line(tmp_path: Path) -> None:
    def broken() -> Finding:
        raise KeyError("slip")

    assert examined("it", broken).state == "bad"


def test_the_command_ends_with_one_where_something_will_fail(remine: Remine, tmp_path: Path) -> None:
    remine.monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    told = remine("doctor", "--home", str(tmp_path), "--format", "json", cwd=tmp_path)
    rows = json.loads(told.stdout)
    assert told.returncode == 1, told.stderr
    assert [row["check"] for row in rows if row["state"] == "bad"] == ["server"]
