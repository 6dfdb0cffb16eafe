"""What the README says can be typed, works as written."""

import re
import tomllib
from pathlib import Path

import pytest
import warehouse_samples as sample
from typer.testing import CliRunner

from flows.cli.main import app
from flows.recipe import Recipe
from warehouse.queries import select

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^(?:\.venv/bin/)?remine (\w+)|`remine (\w+)", README, re.MULTILINE)


def test_there_are_three_queries() -> None:
    assert len(QUERIES) == 3


@pytest.mark.parametrize("sql", QUERIES, ids=range(len(QUERIES)))
def test_every_query_runs_and_finds_something(tmp_path: Path, sql: str) -> None:
    warehouse, run = sample.open_warehouse(tmp_path)
    sample.play_round(warehouse, run, tmp_path)
    columns, rows = select(warehouse, sql)
    assert len(columns) >= 4 and rows


@pytest.mark.parametrize("part", re.findall(r"```toml\n(.*?)```", README, re.DOTALL))
def test_every_part_of_a_recipe_can_be_read(part: str) -> None:
    needed = {"name": "readme", "source": {"path": "data"}, "student": {"model": "student"}}
    recipe = Recipe.model_validate({**needed, **tomllib.loads(part)})
    assert recipe != Recipe.model_validate(needed), "every part changes something"


def test_every_command_exists() -> None:
    names = {first or second for first, second in COMMANDS}
    assert {"init", "run", "export", "sql", "ui", "runs", "search"} <= names
    for name in sorted(names):
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0, name


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"^make ([a-z-]+)", README, re.MULTILINE)) <= targets
    assert {"run", "test", "test-slow", "check", "bench", "ui", "clean"} <= targets


def test_every_folder_of_the_tree_is_there() -> None:
    tree = re.findall(r"^(\w+)/ +\S", README, re.MULTILINE)
    assert len(tree) >= 8
    assert all((ROOT / name).is_dir() for name in tree)
