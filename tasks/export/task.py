"""The step `export`."""

import json

from tasks.record import record
from tasks.refs import Artifact, Run, StudentRef
from tasks.settings import Settings
from tasks.step import step


@step("export")
def export(
    run: Run, corpus: Artifact, winner: StudentRef, recipe: Settings, cutoff: Artifact | None = None
) -> Artifact:
    """Save the winner as a sentence-transformers folder with its model card, and check its vectors."""
    from tasks.export.exporting import export_student
    from tasks.record import warehouse_of
    from warehouse.queries import leaderboard

    board = leaderboard(warehouse_of(run.where), run.id)
    artifact = export_student(run, corpus, winner, json.loads(recipe.model_dump_json()), board, cutoff)
    record(run, artifact, 0)
    return artifact
