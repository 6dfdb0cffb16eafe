"""The student that a recipe's users should serve: named by runs, by hand, and taken back."""

import json
from pathlib import Path
from typing import Any

from tasks.artifacts import Artifact
from tasks.refs import Run, StudentRef
from tasks.replacing import write_whole
from tasks.where import Where

INCUMBENT = "incumbent"  # the system's name while a refresh holds another student against it
KEPT = 20  # earlier incumbents that can be gone back to


def name_incumbent(run: Run, student: StudentRef, measured: Artifact, by: str = "run") -> Path:
    """Write data/artifacts/current/<recipe>.json; the student that stood there is kept below it, under `previous`.

    Args:
        run: Whose choice it is.
        student: The student to serve.
        measured: Its evaluation.
        by: run or hand.

    Raises:
        ValueError: The recipe's name leads out of the folder.
    """
    path = incumbent_file(run.where, run.recipe)
    named = {"run": run.id, "recipe": run.recipe, **student.model_dump(mode="json"), "evaluation": str(measured.path)}
    before = json.loads(path.read_text("utf-8")) if path.exists() else None
    previous = before.pop("previous", []) if before else []
    if before and before["fingerprint"] != student.fingerprint:
        previous = [before, *previous][:KEPT]
    _write(path, {**named, "by": by, "previous": previous})
    return path


def roll_back(where: Where, recipe: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Name the student that was served before; returns the one that goes and the one that comes.

    Raises:
        LookupError: The recipe has no incumbent, or there was none before it.
        FileNotFoundError: The earlier student's folder is gone; nothing is changed.
    """
    path = incumbent_file(where, recipe)
    if not path.exists():
        known = ", ".join(sorted(each.stem for each in path.parent.glob("*.json"))) or "none"
        raise LookupError(f"{path}: no student is in use for a recipe of that name; there are {known}")
    now = json.loads(path.read_text("utf-8"))
    previous = now.pop("previous", [])
    if not previous:
        raise LookupError(f"{path}: {now['system']} of run {now['run']} was the first in use; there is none before")
    back, *older = previous
    _check_there(back)
    _write(path, {**back, "previous": older})
    return now, back


def incumbent_file(where: Where, recipe: str) -> Path:
    """The file that names a recipe's incumbent.

    Raises:
        ValueError: The name leads out of the folder.
    """
    folder = where.artifacts_path / "current"
    path = folder / f"{recipe}.json"
    if path.parent != folder or path.name.startswith("."):
        raise ValueError(f"recipe name {recipe!r} cannot name a file; use letters, digits, '.', '_' and '-'")
    return path


def _check_there(named: dict[str, Any]) -> None:
    if not Path(named["path"]).exists():
        raise FileNotFoundError(
            f"{named['path']}: the folder of {named['system']} of run {named['run']} is gone; whoever served it would "
            "load nothing. Run the recipe again, or promote another round"
        )


def _write(path: Path, current: dict[str, Any]) -> None:
    """Replace the file in one step."""
    write_whole(path, f"{json.dumps(current, indent=1, ensure_ascii=False)}\n".encode())
