"""A run's student, copied to a folder of the user's choice."""

from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import Artifact
from tasks.refs import Run, StudentRef
from tasks.where import Where


def export_to(where: Where, run: int, folder: Path) -> tuple[Path, str]:
    """Copy the student that was last put in use of a run, by the run itself or by hand, whole or not at all.

    Returns:
        The folder, and the student's system.

    Raises:
        LookupError: There is no such run, or it did not come to its end.
        FileExistsError: The folder holds files that no export wrote.
        FileNotFoundError: The student's folder is gone.
    """
    from tasks.export.folder import copy_to, refuse_foreign
    from tasks.record import warehouse_of
    from warehouse.lookup import artifacts_of
    from warehouse.promotions import promotions_from

    refuse_foreign(folder.resolve())
    warehouse = warehouse_of(where)
    made = artifacts_of(warehouse, run)
    exported = _made(made, "export")
    if exported is None:
        reason = "`remine runs` lists the ones there are" if made.is_empty() else "it ended before its export"
        raise LookupError(f"{where.warehouse_path}: run {run} has no student to export; {reason}")
    decided = promotions_from(warehouse, run)
    if decided and decided[-1]["fingerprint"] != exported.facts["student"]:
        exported = _export_other(where, made, decided[-1])
    return copy_to(exported, folder), str(exported.facts["system"])


def _made(made: pl.DataFrame, step: str) -> Artifact | None:
    """The last artifact of a step in a run."""
    rows = made.filter(pl.col("step") == step).rows(named=True)
    return Artifact(step=step, fingerprint=rows[-1]["fingerprint"], path=Path(rows[-1]["path"])) if rows else None


def _export_other(where: Where, made: pl.DataFrame, decision: dict[str, Any]) -> Artifact:
    """Export a student that the run itself did not choose, as the run would have."""
    from tasks.export.exporting import export_student
    from tasks.record import warehouse_of
    from warehouse.lookup import settings_of
    from warehouse.queries import leaderboard

    warehouse, run = warehouse_of(where), Run(id=decision["run_id"], recipe=decision["recipe"], where=where)
    student = StudentRef(**{name: decision[name] for name in StudentRef.model_fields if name in decision})
    if not student.path.exists():
        raise FileNotFoundError(f"{student.path}: the folder of {student.system}, which is in use, is gone")
    corpus = _made(made, "ingest")
    assert corpus is not None  # a run with an export has ingested
    cutoffs = made.filter(pl.col("settings").str.json_path_match("$.system") == student.system)
    settings, board = settings_of(warehouse, run.id), leaderboard(warehouse, run.id)
    return export_student(run, corpus, student, settings, board, _made(cutoffs, "threshold"))
