"""Which artifacts a run made or found, round by round."""

from collections.abc import Sequence
from datetime import datetime
from math import inf
from pathlib import Path

from tasks.artifacts import Artifact
from tasks.record import warehouse_of
from tasks.refs import Run
from tasks.report.summary import Placed


def placed_artifacts(run: Run) -> list[Placed]:
    """Everything that was recorded for a run, by round, then by when it was made.

    Raises:
        FileNotFoundError: The folder of an artifact is gone.
    """
    from warehouse.queries import steps

    found = [
        Placed(
            number=row["round"],
            artifact=Artifact(step=row["step"], fingerprint=row["artifact"], path=Path(row["path"])),
            made=bool(row["made"]),
        )
        for row in steps(warehouse_of(run.where), run.id).iter_rows(named=True)
    ]
    return sorted(found, key=lambda each: (each.number, each.artifact.about()["made_at"]))


def compared_at(placed: Sequence[Placed]) -> float:
    """When students were compared last, by this run or by the one that it found them from, in seconds since 1970."""
    told = [each.artifact.about()["made_at"] for each in placed if each.artifact.step == "promote"]
    return max((datetime.fromisoformat(when).timestamp() for when in told), default=inf)
