"""Telling the warehouse about runs, rounds and artifacts."""

from tasks.refs import Artifact, Run
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.load import record_artifact
from warehouse.snapshot import publish

SNAPSHOT_SECONDS = 60.0


def warehouse_of(where: Where) -> Warehouse:
    """The warehouse of a home folder, with its patience."""
    return Warehouse(where.warehouse_path, where.lock_seconds)


def record(run: Run, artifact: Artifact, number: int) -> int:
    """Enter an artifact and its place (run, round) into the warehouse; returns its key there."""
    warehouse = warehouse_of(run.where)
    key = record_artifact(warehouse, run.id, artifact.about(), str(artifact.path), (number, artifact.step))
    publish(warehouse, every=SNAPSHOT_SECONDS)
    return key
