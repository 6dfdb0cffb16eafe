"""Which pairs a teacher has not scored yet, in the warehouse or in shards beside it; nothing is written."""

import polars as pl

from tasks.artifacts import Artifact
from tasks.record import warehouse_of
from tasks.refs import TeacherRef
from tasks.score.plan import KEYS
from tasks.score.shards import Shards
from tasks.where import Where
from warehouse.queries import pending_pairs


def has_scored(where: Where, teacher: TeacherRef) -> bool:
    """Whether a teacher has scored anything here."""
    return bool(Shards.of(where.artifacts_path, teacher.fingerprint).files())


def unscored(where: Where, pairs: Artifact, teacher: TeacherRef) -> tuple[int, int]:
    """Count a teacher's pairs: all, and those that a run would compute.

    Args:
        where: The folder of the warehouse.
        pairs: Holds pairs.parquet.
        teacher: Who scores.

    Raises:
        WarehouseBusy: Somebody held the warehouse until the deadline.
    """
    path = pairs.file("pairs.parquet")
    asked = pl.read_parquet(path, columns=KEYS).unique()
    left = asked
    if where.warehouse_path.exists():
        left = pending_pairs(warehouse_of(where), teacher.fingerprint, path)
    for shard in Shards.of(where.artifacts_path, teacher.fingerprint).files():
        left = left.join(pl.read_parquet(shard, columns=KEYS), on=KEYS, how="anti")
    return asked.height, left.height
