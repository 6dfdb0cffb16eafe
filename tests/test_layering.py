"""Imports point one way, files stay short, and importing a module does nothing."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("flows", "models", "tasks", "warehouse")
MAY_IMPORT = {
    "warehouse": {"warehouse"},
    "models": {"models"},
    "tasks": {"tasks", "models", "warehouse"},
    "flows": {"flows", "tasks", "models", "warehouse"},
}
# What Prefect knows of a step, besides the files named task.py and steps that are one file.
WITH_PREFECT = {"tasks/step.py", "tasks/progress.py"}
HEAVY = ("torch", "sentence_transformers", "transformers", "datasets", "bm25s", "ir_measures", "prefect", "duckdb")
LONGEST_FILE = 300
LONGEST_FUNCTION = 40


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative imports hide where they point"
            yield node.module or "", node.lineno


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


ALL = [path for package in PACKAGES for path in sources(package)]


def test_there_is_something_to_look_at() -> None:
    assert all(len(sources(package)) > 1 for package in PACKAGES)


@pytest.mark.parametrize("path", ALL, ids=name)
def test_imports_point_one_way(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0]
    for module, line in imported(ast.parse(path.read_text("utf-8"))):
        top = module.split(".")[0]
        assert top not in PACKAGES or top in MAY_IMPORT[own], f"{name(path)}:{line}: {own} must not import {module}"


@pytest.mark.parametrize("package", ["models", "warehouse"])
def test_work_knows_no_prefect(package: str) -> None:
    for path in sources(package):
        for module, line in imported(ast.parse(path.read_text("utf-8"))):
            assert module.split(".")[0] != "prefect", f"{name(path)}:{line}: {package} must run without Prefect"


def test_in_tasks_only_the_thin_files_know_prefect() -> None:
    """The work of a step is a plain function that a test calls without Prefect."""
    for path in sources("tasks"):
        thin = path.name == "task.py" or path.parent == ROOT / "tasks" or name(path) in WITH_PREFECT
        for module, line in imported(ast.parse(path.read_text("utf-8"))):
            is_prefect = module.split(".")[0] == "prefect" or module == "tasks.step"
            assert thin or not is_prefect, f"{name(path)}:{line}: move this into task.py"


@pytest.mark.parametrize("path", ALL, ids=name)
def test_files_and_functions_stay_short(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= LONGEST_FILE, f"{name(path)}: more than {LONGEST_FILE} lines"
    for function in functions(ast.parse(text)):
        length = (function.end_lineno or 0) - function.lineno + 1
        assert length <= LONGEST_FUNCTION, f"{name(path)}:{function.lineno}: {function.name} has {length} lines"


def test_nineteen_of_twenty_functions_fit_in_thirty_lines() -> None:
    lengths = [
        (f.end_lineno or 0) - f.lineno + 1 for path in ALL for f in functions(ast.parse(path.read_text("utf-8")))
    ]
    assert len(lengths) > 100
    assert sum(length <= 30 for length in lengths) >= 0.95 * len(lengths)


def python(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_importing_any_module_prints_and_writes_nothing(tmp_path: Path) -> None:
    """Pitfall 46: progress bars, banners or downloads at import."""
    modules = [name(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in ALL]
    script = (
        f"import importlib, os, sys; sys.path.insert(0, {str(ROOT)!r}); os.chdir({str(tmp_path)!r})\n"
        f"os.environ['HOME'] = os.environ['PREFECT_HOME'] = {str(tmp_path / 'prefect')!r}\n"
        "os.environ['PREFECT_SERVER_ALLOW_EPHEMERAL_MODE'] = 'false'\n"
        f"for module in {modules!r}: importlib.import_module(module)\n"
    )
    assert python(script) == ""
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left == []


def test_asking_for_help_loads_nothing_heavy() -> None:
    """Help that takes seconds is not asked for."""
    script = f"import sys, flows.cli.main; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert python(script).strip() == "[]"


def test_a_recipe_can_be_read_without_torch_and_prefect() -> None:
    """A typing error in a recipe is told at once, not after seconds of imports."""
    script = "import sys, flows.recipe; print([name for name in ('torch', 'prefect') if name in sys.modules])"
    assert python(script).strip() == "[]"
