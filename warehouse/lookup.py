"""Finding what a run used and made, by the run's number."""

import json
from pathlib import Path
from typing import Any, Literal

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

TEXTS_OF_IDS = {
    "query": """
SELECT i.external_id, t.text
FROM query_ids AS i
JOIN queries AS t USING (query_key)
WHERE i.corpus = $corpus AND i.until IS NULL AND i.external_id IN (SELECT external_id FROM wanted)
""",
    "passage": """
SELECT i.external_id, t.text
FROM passage_ids AS i
JOIN passages AS t USING (passage_key)
WHERE i.corpus = $corpus AND i.until IS NULL AND i.external_id IN (SELECT external_id FROM wanted)
""",
}

EVER = """
SELECT DISTINCT i.external_id
FROM passage_ids AS i
WHERE i.corpus = $corpus AND i.external_id IN (SELECT external_id FROM wanted)
ORDER BY ALL
"""

LAST = """
SELECT max(run_id)
FROM runs
WHERE recipe = $recipe AND flow IN ('distill', 'refresh') AND status = 'completed'
    AND ($before IS NULL OR run_id < $before)
"""

KEPT = """
SELECT run_id
FROM (
    SELECT run_id, row_number() OVER (
        PARTITION BY recipe, flow, status = 'completed' ORDER BY run_id DESC
    ) AS place, status
    FROM runs
)
WHERE $keep = 0 OR place <= $keep AND status = 'completed'
    OR place = 1 AND status <> 'completed'
ORDER BY run_id
"""

LOADED = """
SELECT count(*), coalesce(sum(s.n_tokens), 0)
FROM teacher_scores AS s
JOIN models AS m ON m.model_id = s.teacher_id AND m.role = 'teacher' AND m.fingerprint = $teacher
JOIN queries AS q USING (query_key)
JOIN passages AS p USING (passage_key)
JOIN (SELECT DISTINCT query_hash, passage_hash FROM read_parquet($pairs)) AS w
    ON w.query_hash = q.text_hash AND w.passage_hash = p.text_hash
WHERE s.run_id = $run_id
"""

SECONDS = """
SELECT coalesce(sum(seconds), 0)
FROM shard_loads
WHERE run_id = $run_id AND table_name = 'teacher_scores'
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


def knows_model(warehouse: Warehouse, role: str, fingerprint: str) -> bool:
    """Whether a student or teacher is registered."""
    with warehouse.read() as connection:
        return connection.execute(MODEL, {"role": role, "fingerprint": fingerprint}).fetchone() is not None


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


def corpora(warehouse: Warehouse) -> list[str]:
    """Names of the corpora that have been ingested, in alphabetical order."""
    with warehouse.read() as connection:
        rows = connection.execute("SELECT DISTINCT corpus FROM corpus_loads ORDER BY corpus").fetchall()
    return [str(row[0]) for row in rows]


def texts_of_ids(warehouse: Warehouse, corpus: str, role: Literal["query", "passage"], ids: pl.Series) -> pl.DataFrame:
    """The texts that ids mean in a corpus now: `external_id, text`; ids that it doesn't have now are left out."""
    wanted = pl.DataFrame({"external_id": ids}).to_arrow()
    with warehouse.read() as connection:
        connection.register("wanted", wanted)
        rows = connection.execute(TEXTS_OF_IDS[role], {"corpus": corpus}).fetchall()
    return pl.DataFrame(rows, schema={"external_id": pl.String, "text": pl.String}, orient="row")


def ids_ever(warehouse: Warehouse, corpus: str, ids: pl.Series) -> pl.Series:
    """Of these passage ids, those that a corpus has, or has had."""
    wanted = pl.DataFrame({"external_id": ids}).to_arrow()
    with warehouse.read() as connection:
        connection.register("wanted", wanted)
        rows = connection.execute(EVER, {"corpus": corpus}).fetchall()
    return pl.Series("external_id", [row[0] for row in rows], dtype=pl.String)


def last_completed(warehouse: Warehouse, recipe: str, before: int | None = None) -> int | None:
    """The newest run of a recipe that taught or refreshed a student and came to its end.

    Args:
        warehouse: The warehouse.
        recipe: Its name.
        before: Only runs before this one; None: all.
    """
    with warehouse.read() as connection:
        (found,) = only(connection, LAST, {"recipe": recipe, "before": before})
    return None if found is None else int(found)


def kept_runs(warehouse: Warehouse, keep: int) -> list[int]:
    """The newest runs of each recipe and flow that came to their end, and the newest that did not, which may go on.

    Args:
        warehouse: The warehouse.
        keep: How many; 0: every run.
    """
    with warehouse.read() as connection:
        rows = connection.execute(KEPT, {"keep": keep}).fetchall()
    return [int(row[0]) for row in rows]


def loaded_scores(warehouse: Warehouse, run_id: int, teacher: str, pairs: Path) -> tuple[int, int, float]:
    """What a run added to a teacher's scores of some pairs: how many, their tokens, and seconds of all its scoring.

    Args:
        warehouse: The warehouse.
        run_id: The run.
        teacher: The teacher's fingerprint.
        pairs: Parquet file: query_hash, passage_hash.
    """
    with warehouse.read() as connection:
        values = {"run_id": run_id, "teacher": teacher, "pairs": str(pairs)}
        count, tokens = only(connection, LOADED, values)
        (seconds,) = only(connection, SECONDS, {"run_id": run_id})
    return int(count), int(tokens), float(seconds)
