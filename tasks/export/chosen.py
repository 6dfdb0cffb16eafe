"""A run's export, copied to a folder of the user's choice."""

from pathlib import Path

from tasks.where import Where


def export_to(where: Where, run: int, folder: Path) -> Path:
    """Copy the student that a run chose to a folder, whole or not at all; returns the folder.

    Raises:
        LookupError: There is no such run, or it did not come to its end.
        FileExistsError: The folder holds files that no export wrote.
    """
    from tasks.artifacts import Artifact
    from tasks.export.folder import copy_to
    from tasks.record import warehouse_of
    from warehouse.queries import steps

    made = steps(warehouse_of(where), run).rows(named=True)
    exports = [row for row in made if row["step"] == "export"]
    if not exports:
        reason = "it ended before its export" if made else "`remine runs` lists the ones there are"
        raise LookupError(f"{where.warehouse_path}: run {run} has no student to export; {reason}")
    row = exports[-1]
    return copy_to(Artifact(step="export", fingerprint=row["artifact"], path=Path(row["path"])), folder)
