"""What git carries is the whole project: a fresh clone can be installed, tested and run."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("flows", "models", "tasks", "warehouse")


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        pytest.skip(f"not a git checkout: {done.stderr.strip()}")
    return done.stdout.splitlines()


@pytest.fixture(autouse=True)
def _needs_git() -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")


def test_ignore_patterns_are_anchored() -> None:
    """Pitfall 40: a bare `data/` or `models/` swallows the package of that name."""
    for pattern in (ROOT / ".gitignore").read_text("utf-8").splitlines():
        pattern = pattern.strip().removeprefix("!")
        if pattern and not pattern.startswith("#"):
            assert pattern.startswith("/") or pattern == "__pycache__/", f"{pattern!r} matches at any depth"


def test_no_source_file_is_ignored() -> None:
    """Pitfall 40: the file is there for whoever wrote it, and missing from every clone."""
    files = [
        path.relative_to(ROOT).as_posix()
        for folder in (*PACKAGES, "tests", "benchmarks", "docs", ".ci")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    ]
    assert len(files) > 50
    done = subprocess.run(
        ["git", "check-ignore", "--stdin"], input="\n".join(files), text=True, cwd=ROOT, capture_output=True
    )
    assert done.stdout.splitlines() == []


def test_what_runs_make_is_ignored() -> None:
    made = ["data/artifacts/x", "data/sample/corpus.jsonl", "warehouse.duckdb", "warehouse.duckdb.wal", ".prefect/x"]
    made += ["warehouse.snapshot.duckdb", "warehouse.duckdb.run.lock", ".venv/x", ".wheels/x"]
    assert git("check-ignore", *made) == made


def test_tests_are_flat_and_no_package() -> None:
    """Pitfall 41: `tests/data/__init__.py` shadows the top-level `data`."""
    assert list((ROOT / "tests").rglob("__init__.py")) == []
    assert [path for path in (ROOT / "tests").rglob("test_*.py") if path.parent != ROOT / "tests"] == []


def test_every_package_is_installed() -> None:
    """A folder without `__init__.py` is left out of the installation."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            assert (path.parent / "__init__.py").exists(), f"{path.parent}: no __init__.py"


def test_every_file_that_code_reads_is_installed() -> None:
    """Without its SQL, a wheel makes no table, and says so at the first run only."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    listed = project["tool"]["setuptools"]["package-data"]
    folders = {ROOT.joinpath(*name.split(".")): patterns for name, patterns in listed.items()}
    carried = {path for folder, patterns in folders.items() for each in patterns for path in folder.glob(each)}
    tracked = {ROOT / name for name in git("ls-files", *PACKAGES)}
    assert len(carried) > 10
    assert {path for path in tracked if path.suffix != ".py"} == carried


def test_pins_fit_the_project_file() -> None:
    """A pin outside the range makes `make` fail on the next machine."""
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(item for extra in project["optional-dependencies"].values() for item in extra),
    ]
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    assert all(re.fullmatch(r"[0-9a-z.]+", version) for version in pins.values()), "no local versions, no addresses"
    by_name = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins.items()}
    for requirement in map(Requirement, wanted):
        pin = by_name.get(re.sub(r"[-_.]+", "-", requirement.name).lower())
        assert pin is not None, f"constraints.txt has no pin for {requirement.name}"
        assert requirement.specifier.contains(pin), f"{requirement}: pinned to {pin}"


def test_the_makefile_has_every_target_that_is_written_about() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    for target in ("run", "test", "test-slow", "check", "bench", "ui", "clean"):
        assert re.search(rf"^{target}:", text, re.MULTILINE), f"make {target} is missing"
