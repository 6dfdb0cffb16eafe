"""Asking a step what it would make, without making it."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from tasks.artifacts import Artifact, NotMade, looking
from tasks.plan.line import Line
from tasks.refs import StudentRef, TeacherRef
from tasks.where import Where

Found = TypeVar("Found", bound=Artifact | None)


def look(step: Callable[[], Found]) -> Found:
    """The artifact that a step would give: its name, whether or not it is there (see `is_there`)."""
    try:
        with looking():
            return step()
    except NotMade as missing:
        return cast(Found, missing.artifact)


def is_there(artifact: Artifact) -> bool:
    """Whether an artifact has been made."""
    return (artifact.path / "artifact.json").exists()


# What a missing artifact would hold can't be known. It gets a fingerprint that follows from the artifact's name, so
# that two steps which would be given the same thing are seen to be the same.


def unnamed(root: Path, step: str, made_of: str) -> Artifact:
    """An artifact that can't be named before what it is made of is there."""
    return Artifact(step=step, fingerprint=f"unnamed {made_of}", path=root / step / "unnamed")


def unmade_student(artifact: Artifact, system: str) -> StudentRef:
    """A student that is yet to be trained or chosen."""
    return StudentRef(system=system, fingerprint=f"unmade {artifact.fingerprint}", path=Path())


def unmade_teacher(artifact: Artifact) -> TeacherRef:
    """A teacher that is yet to be taught or calibrated."""
    return TeacherRef(fingerprint=f"unmade {artifact.fingerprint}", path=Path(), name="taught", calibrated=True)


def last_made(where: Where, recipe: str, step: str) -> Artifact | None:
    """A step's artifact in the last run of a recipe that came to its end; None where there is none."""
    from tasks.record import warehouse_of
    from warehouse.lookup import artifacts_of, latest_run

    warehouse = warehouse_of(where)
    last = latest_run(warehouse, recipe) if where.warehouse_path.exists() else None
    rows = artifacts_of(warehouse, last[0]).rows(named=True) if last else []
    made = [row for row in rows if row["step"] == step]
    return Artifact(step=step, fingerprint=made[-1]["fingerprint"], path=Path(made[-1]["path"])) if made else None


class Lines:
    """The lines of a plan as they come; an artifact that two steps give is made by the first."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.made: set[str] = set()

    @property
    def all_done(self) -> bool:
        """Nothing is to be done for any line so far."""
        return all(line.done for line in self.lines)

    def add(self, artifact: Artifact, line: Line) -> Artifact:
        """Add a step's line; where there is nothing to do for it, its amounts go."""
        there, above = is_there(artifact), artifact.fingerprint in self.made
        self.made.add(artifact.fingerprint)
        if there or above:
            line = Line(step=line.step, round=line.round, what=line.what, done=True, above=not there)
        self.lines.append(line)
        return artifact
