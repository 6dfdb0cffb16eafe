"""The report of a run as an artifact."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.artifacts import Artifact, make_artifact
from tasks.record import warehouse_of
from tasks.refs import Run
from tasks.report.page import report_page, save_page
from tasks.report.summary import Placed
from warehouse.lookup import settings_of

VERSION = 3
FILE = "report.html"


def write_report(run: Run, placed: Sequence[Placed]) -> Artifact:
    """Write report.html; a run that came to the same artifacts by the same recipe has the same report.

    Args:
        run: The run, as far as it has come.
        placed: Everything that was recorded for it.
    """
    warehouse = warehouse_of(run.where)

    def build(folder: Path) -> Mapping[str, Any]:
        save_page(report_page(warehouse, run.id), folder / FILE)
        return {"run": run.id, "recipe": run.recipe}

    used = sorted({(each.number, each.artifact.step, each.artifact.fingerprint) for each in placed})
    inputs = {f"{number} {step} {place}": name for place, (number, step, name) in enumerate(used)}
    named = {"recipe": settings_of(warehouse, run.id)}
    return make_artifact(run.root, "report", VERSION, named, inputs, build)
