"""Finding what a run used and made, by the run's number."""

import json
from typing import Any

import polars as pl

from warehouse.connect import Warehouse
from warehouse.rows import only

SETTINGS = "SELECT settings::VARCHAR FROM runs WHERE run_id = $run_id"

LATEST = """
SELECT run_id, recipe
FROM runs
WHERE flow = 'distill' AND status = 'completed' AND ($recipe = '' OR recipe = $recipe)
ORDER BY run_id DESC
LIMIT 1
"""

ARTIFACTS = """
SELECT r.round, r.step, a.fingerprint, a.path, a.settings::VARCHAR AS settings, a.inputs::VARCHAR AS inputs
FROM rounds AS r
JOIN artifacts AS a USING (artifact_id)
WHERE r.run_id = $run_id
ORDER BY r.round, a.made_at, a.artifact_id
"""

MODEL = """
SELECT name, fingerprint, path, max_length
FROM models
WHERE role = $role AND fingerprint = $fingerprint
"""


def latest_run(warehouse: Warehouse, recipe: str = "") -> tuple[int, str] | None:
    """The number and recipe of the last run that completed; of one recipe, where one is named."""
    with warehouse.read() as connection:
        found: tuple[int, str] | None = connection.execute(LATEST, {"recipe": recipe}).fetchone()
    return found


def settings_of(warehouse: Warehouse, run_id: int) -> dict[str, Any]:
    """The recipe of a run."""
    with warehouse.read() as connection:
        (text,) = only(connection, SETTINGS, {"run_id": run_id})
    settings: dict[str, Any] = json.loads(text)
    return settings


def artifacts_of(warehouse: Warehouse, run_id: int) -> pl.DataFrame:
    """What a run used and made: `round, step, fingerprint, path, settings, inputs` (the last two as JSON text)."""
    names = ("round", "step", "fingerprint", "path", "settings", "inputs")
    with warehouse.read() as connection:
        rows = connection.execute(ARTIFACTS, {"run_id": run_id}).fetchall()
    return pl.DataFrame(rows, schema={name: pl.Int32 if name == "round" else pl.String for name in names}, orient="row")


def find_model(warehouse: Warehouse, role: str, fingerprint: str) -> dict[str, Any]:
    """A student or teacher by its fingerprint: `name, fingerprint, path, max_length`.

    Raises:
        LookupError: The warehouse does not know it.
    """
    with warehouse.read() as connection:
        row = connection.execute(MODEL, {"role": role, "fingerprint": fingerprint}).fetchone()
    if row is None:
        raise LookupError(f"{warehouse.path}: no {role} with fingerprint {fingerprint}")
    return dict(zip(("name", "fingerprint", "path", "max_length"), row, strict=True))
