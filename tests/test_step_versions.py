"""A step's code may not change without its version: an artifact made by other code must have another name.

After a change that alters results, raise the VERSION beside the step; after any change, run
`python tests/test_step_versions.py` to write the new digests down.
"""

import ast
import json
import sys
from functools import cache
from hashlib import blake2b
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEDGER = Path(__file__).with_name("step_versions.json")
# Nothing in these changes what a step computes: they name, register, show and connect.
BYSTANDERS = {
    "tasks.artifacts",
    "tasks.cluster",
    "tasks.identity",
    "tasks.progress",
    "tasks.record",
    "tasks.refs",
    "tasks.run",
    "tasks.runner",
    "tasks.settings",
    "tasks.step",
    "tasks.where",
}


def steps() -> dict[str, Path]:
    """Modules with a VERSION, by name."""
    found = {}
    for path in sorted((ROOT / "tasks").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        if version_of(tree) is not None:
            found[module_name(path)] = path
    return found


def version_of(tree: ast.Module) -> int | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "VERSION":
            assert isinstance(node.value, ast.Constant)
            return int(node.value.value)
    return None


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def file_of(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def reached(path: Path, versioned: set[str]) -> list[Path]:
    """The step's file and what it imports of ours, transitively; other steps have versions of their own."""
    found, todo = {path}, [path]
    while todo:
        for module in imported(ast.parse(todo.pop().read_text("utf-8"))):
            other = file_of(module)
            is_ours = module.split(".")[0] in ("tasks", "models") and module not in BYSTANDERS
            if other and is_ours and other not in found and module not in versioned and other.name != "task.py":
                found.add(other)
                todo.append(other)
    return sorted(found)


def imported(tree: ast.AST) -> list[str]:
    modules = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return modules


def digest(path: Path, versioned: set[str]) -> str:
    """Hash the syntax trees, so that comments, docstrings and layout are free."""
    hasher = blake2b(digest_size=8)
    for each in reached(path, versioned):
        tree = ast.parse(each.read_text("utf-8"))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and is_docstring(body[0]):
                body.pop(0)
        hasher.update(each.relative_to(ROOT).as_posix().encode() + ast.unparse(tree).encode())
    return hasher.hexdigest()


def is_docstring(node: ast.AST) -> bool:
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant and isinstance(node.value.value, str)


@cache
def current() -> dict[str, dict[str, str | int]]:
    found = steps()
    return {
        name: {"version": version_of(ast.parse(path.read_text("utf-8"))) or 0, "digest": digest(path, set(found))}
        for name, path in found.items()
    }


def test_every_step_is_written_down() -> None:
    assert set(json.loads(LEDGER.read_text("utf-8"))) == set(steps())
    assert len(steps()) >= 10


@pytest.mark.parametrize("name", sorted(steps()))
def test_a_changed_step_has_a_new_version(name: str) -> None:
    """Pitfall 2: a result of older code served under the name of the new."""
    held, now = json.loads(LEDGER.read_text("utf-8"))[name], current()[name]
    assert now["digest"] == held["digest"], (
        f"{name}, or something it imports, changed. If results can differ, raise its VERSION (now {now['version']}, "
        f"written down {held['version']}); then run `python tests/test_step_versions.py`"
    )
    assert now["version"] == held["version"]


if __name__ == "__main__":
    LEDGER.write_text(json.dumps(current(), indent=1, sort_keys=True) + "\n", "utf-8")
    sys.stdout.write(f"{LEDGER}: {len(current())} steps\n")
