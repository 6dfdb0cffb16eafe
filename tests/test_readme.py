"""What the README says can be typed, works as written."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import warehouse_samples as sample
from typer.main import get_command
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
    told = tomllib.loads(part)
    told["source"] = {**needed["source"], **told.get("source", {})}
    recipe = Recipe.model_validate({**needed, **told})
    assert recipe != Recipe.model_validate(needed), "every part changes something"


def test_every_command_exists() -> None:
    names = {first or second for first, second in COMMANDS}
    assert {"init", "run", "export", "sql", "ui", "runs", "search"} <= names
    for name in sorted(names):
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0, name


def test_every_option_exists() -> None:
    """An option that was renamed sends whoever copies the line away."""
    pages = "\n".join(
        (ROOT / name).read_text("utf-8") for name in ("README.md", "CHANGELOG.md", "docs/scale.md", "docs/sql.md")
    )
    commands = {
        " ".join(path): {name for option in command.params for name in option.opts} for path, command in every_command()
    }
    checked = 0
    for line in re.findall(r"(?:^|`)(?:\.venv/bin/)?remine ([a-z][^`\n#]*)", pages, re.MULTILINE):
        words = line.split()
        name = " ".join(words[:2]) if " ".join(words[:2]) in commands else words[0]
        if name in commands:
            wanted = {word for word in words if word.startswith("--")}
            checked += len(wanted)
            assert wanted <= commands[name], f"remine {line}"
    assert checked >= 8


def every_command() -> Iterator[tuple[tuple[str, ...], Any]]:
    waiting: list[tuple[tuple[str, ...], Any]] = [((), get_command(app))]
    while waiting:
        path, command = waiting.pop()
        inner = getattr(command, "commands", {})
        waiting += [((*path, name), each) for name, each in inner.items()]
        if path and not inner:
            yield path, command


def test_every_command_is_named_in_the_readme() -> None:
    """A command that nobody reads of is not used."""
    missing = [" ".join(path) for path, _ in every_command() if not re.search(rf"remine {' '.join(path)}\b", README)]
    assert missing == []


def test_every_preset_is_named_in_the_readme() -> None:
    presets = {path.stem for path in (ROOT / "flows" / "presets").glob("*.toml")}
    assert {name for name in presets if not re.search(rf"[`/]{name}\b", README)} == set()


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"^make ([a-z-]+)", README, re.MULTILINE)) <= targets
    assert {"run", "test", "test-slow", "check", "bench", "ui", "clean"} <= targets


def test_every_folder_of_the_tree_is_there() -> None:
    tree = re.findall(r"^(\w+)/ +\S", README, re.MULTILINE)
    assert len(tree) >= 8
    assert all((ROOT / name).is_dir() for name in tree)
