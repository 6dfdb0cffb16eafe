"""The student that a recipe's users should serve: named by runs, by hand, and taken back."""

import getpass
import json
import logging
import os
from math import inf
from pathlib import Path
from typing import Any, Literal

from tasks.artifacts import Artifact
from tasks.record import warehouse_of
from tasks.refs import Run, StudentRef
from tasks.replacing import write_whole
from tasks.where import Where
from warehouse.promotions import add_promotion, promoted_recipes, promotions_of
from warehouse.snapshot import publish

Decision = dict[str, Any]

log = logging.getLogger("remine.promote")

INCUMBENT = "incumbent"  # the system's name while a refresh holds another student against it


def name_incumbent(
    run: Run,
    student: StudentRef,
    measured: Artifact,
    by: Literal["run", "hand"] = "run",
    why: str = "it was measured",
    compared_at: float = inf,
) -> Path:
    """Enter a student as the one in use into the warehouse, and write data/artifacts/current/<recipe>.json.

    A run that comes to the student in use again decides nothing, and enters nothing. Neither does a run that only
    finds comparisons again which were made before somebody chose by hand: that choice stands until students are
    compared anew.

    Args:
        run: Whose student it is.
        student: The student to serve.
        measured: Its evaluation.
        by: run or hand.
        why: The reason, in a sentence.
        compared_at: When the run's students were compared last, in seconds since 1970; by default only now.

    Raises:
        ValueError: The recipe's name leads out of the folder.
    """
    path = incumbent_file(run.where, run.recipe)
    named = {"run_id": run.id, **student.model_dump(mode="json"), "evaluation": str(measured.path)}
    if by == "run" and (chosen := chosen_by_hand(run.where, run.recipe)) and chosen["decided_at"] > compared_at:
        log.warning(
            "%s of run %d stays in use: %s chose it by hand (%s), and this run compared nothing anew; it came to %s. "
            "`remine promote` and `remine rollback` change that.",
            *(chosen[name] for name in ("system", "run_id", "who", "why")),
            student.system,
        )
        return path
    before = in_use(run.where, run.recipe)
    if by == "hand" or not before or before[-1]["fingerprint"] != student.fingerprint:
        _enter(run.where, run.recipe, {**named, "made_by": by, "why": why})
    _write(path, run.recipe, {**named, "made_by": by})
    return path


def roll_back(where: Where, recipe: str, why: str = "") -> tuple[Decision, Decision]:
    """Name the student that was served before; returns the decisions on the one that goes and the one that comes.

    Args:
        where: The home folder.
        recipe: Name of the recipe.
        why: The reason, in a sentence; empty says no more than what was done.

    Raises:
        LookupError: The recipe has no incumbent, or there was none before it.
        FileNotFoundError: The earlier student's folder is gone; nothing is changed.
    """
    served = in_use(where, recipe)
    if not served:
        warehouse = warehouse_of(where)
        known = ", ".join(promoted_recipes(warehouse)) or "none"
        raise LookupError(f"{warehouse.path}: no student is in use for a recipe named {recipe!r}; there are {known}")
    *_, now = served
    if len(served) == 1:
        raise LookupError(f"{now['system']} of run {now['run_id']} was the first in use; there is none before")
    back = served[-2]
    _check_there(back)
    reason = why or f"{now['system']} of run {now['run_id']} was taken back"
    _enter(where, recipe, {**back, "made_by": "rollback", "why": reason})
    _write(incumbent_file(where, recipe), recipe, {**back, "made_by": "rollback"})
    return now, back


def chosen_by_hand(where: Where, recipe: str) -> Decision | None:
    """The newest decision on a recipe, where somebody made it by hand."""
    newest = next(reversed(promotions_of(warehouse_of(where), recipe)), None)
    return newest if newest and newest["made_by"] != "run" else None


def in_use(where: Where, recipe: str) -> list[Decision]:
    """The decisions that a recipe's users can go back through, the newest last; what was taken back is not there."""
    served: list[Decision] = []
    for row in promotions_of(warehouse_of(where), recipe):
        if row["made_by"] == "rollback":
            served.pop()
        elif served and all(served[-1][name] == row[name] for name in ("fingerprint", "run_id")):
            served[-1] = row
        else:
            served.append(row)
    return served


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


def _enter(where: Where, recipe: str, decision: Decision) -> None:
    warehouse = warehouse_of(where)
    add_promotion(warehouse, recipe, {**decision, "who": _account()})
    publish(warehouse)


def _account() -> str:
    """Name of the account that this process runs as; its number where it has no name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid {os.getuid()}"


def _check_there(named: Decision) -> None:
    if not Path(named["path"]).exists():
        raise FileNotFoundError(
            f"{named['path']}: the folder of {named['system']} of run {named['run_id']} is gone; whoever served it "
            "would load nothing. Run the recipe again, or promote another round"
        )


def _write(path: Path, recipe: str, decision: Decision) -> None:
    """Replace the file in one step."""
    names = ("system", "fingerprint", "path", "trust_remote_code", "evaluation")
    current = {"run": decision["run_id"], "recipe": recipe, **{name: decision[name] for name in names}}
    content = {**current, "by": decision["made_by"]}
    write_whole(path, f"{json.dumps(content, indent=1, ensure_ascii=False)}\n".encode())
