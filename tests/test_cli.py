"""The command line: help for people, errors as sentences."""

import json
import os
import socket
from pathlib import Path

import pytest
from command import Remine, process

COMMANDS = (
    *("init", "plan", "run", "score", "export", "sample", "promote", "rollback"),
    *("runs", "search", "sql", "report", "compare", "evaluate", "ui"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(remine: Remine, command: str) -> None:
    told = remine(command, "--help")
    assert told.returncode == 0
    assert "Example:" in told.stdout
    assert f"remine {command}" in told.stdout


def test_help_is_there_at_once() -> None:
    """A tool that thinks for seconds before it helps is not asked."""
    used = os.times()
    told = process("--help")
    spent = os.times()
    seconds = spent.children_user + spent.children_system - used.children_user - used.children_system
    assert seconds < 1.5, "seconds of computing, whatever else the machine does"
    assert all(command in told.stdout for command in COMMANDS)


def test_the_version_is_the_installed_one(remine: Remine) -> None:
    assert remine("--version").stdout.startswith("remine 0.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run"], "no recipe was named and this folder has no recipe.toml; `remine init YOUR_DATA` writes one"),
        (["run", "missing.toml"], "missing.toml: no such recipe"),
        (["sql", "SELECT 1"], "there is no warehouse yet"),
        (["runs"], "there is no warehouse yet"),
        (["search", "words"], "there is no warehouse yet"),
        (["export", "1", "out"], "there is no warehouse yet"),
        (["init", "missing"], "missing: no such file or folder"),
        (["ui"], "nothing has run here yet"),
        (["score", "--pairs", "missing.csv", "--teacher", "x"], "missing.csv: no such file; needed pairs as .jsonl"),
    ],
)
def test_an_error_is_one_message_and_leaves_nothing_behind(
    remine: Remine, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    told = remine(*arguments, cwd=tmp_path)
    assert told.returncode == 1
    assert sentence in told.stderr
    assert told.stderr.startswith("remine: ")
    assert "Traceback" not in told.stderr
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_where_an_error_came_from(remine: Remine, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        remine("--debug", "run", cwd=tmp_path)


def test_a_typing_error_in_a_recipe_starts_no_server(remine: Remine, tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("rounds = 0\nworkers = 3\n", "utf-8")
    told = remine("run", "--set", "training.stepps=10", cwd=tmp_path)
    assert told.returncode == 1
    assert all(key in told.stderr for key in ("rounds", "workers", "training.stepps", "source"))
    assert not (tmp_path / ".prefect").exists()


def test_an_unreachable_server_is_named(tmp_path: Path) -> None:
    recipe = '[source]\npath = "data"\n[student]\nmodel = "student"\n'
    (tmp_path / "recipe.toml").write_text(recipe, "utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/api"
        told = process("run", cwd=tmp_path, PREFECT_API_URL=url, PREFECT_HOME=str(tmp_path / "prefect"))
    assert told.returncode == 1
    assert f"the Prefect server at {url} (PREFECT_API_URL) does not answer" in told.stderr
    assert "Traceback" not in told.stderr
    assert not (tmp_path / "warehouse.duckdb").exists()


def test_runs_are_listed_with_their_end(remine: Remine, home: Path) -> None:
    rows = json.loads(remine("runs", "--format", "json", cwd=home).stdout)
    assert [(row["run"], row["recipe"], row["status"]) for row in rows] == [
        (2, "nightly", "failed"),
        (1, "nightly", "completed"),
    ]


def test_a_run_that_exported_nothing_cannot_be_exported(remine: Remine, home: Path) -> None:
    told = remine("export", "2", "out", cwd=home)
    assert "run 2 has no student to export; `remine runs` lists the ones there are" in told.stderr
    assert not (home / "out").exists()


def test_init_writes_a_recipe_once(remine: Remine, tmp_path: Path) -> None:
    rows = [{"query": f"how to do thing {i}", "passage": f"thing {i} is done so"} for i in range(40)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    told = remine("init", "pairs.jsonl", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "40" in told.stdout
    assert "remine run recipe.toml" in told.stderr
    assert "recipe already" in remine("init", "pairs.jsonl", cwd=tmp_path).stderr
    assert remine("init", "pairs.jsonl", "--force", cwd=tmp_path).returncode == 0
