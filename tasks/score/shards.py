"""Shards: immutable Parquet files of scores, which exist only when whole."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import sync
from warehouse.disk import told_when_full

COLUMNS = {
    "query_hash": pl.Int64,
    "passage_hash": pl.Int64,
    "logit": pl.Float32,
    "n_tokens": pl.Int32,
    "truncated": pl.Boolean,
}
WHERE = "remine.where"


@dataclass(frozen=True)
class Shards:
    """The shard files of one teacher.

    Attributes:
        folder: Where they lie.
        teacher: The teacher's fingerprint.
    """

    folder: Path
    teacher: str

    @classmethod
    def of(cls, root: Path, teacher: str) -> "Shards":
        """The shards of a teacher among the artifacts."""
        return cls(root / "shards" / teacher[:16], teacher)

    def path(self, plan: str, number: int) -> Path:
        """The file of one shard of a plan."""
        return self.folder / f"{plan[:16]}-{number:04d}.parquet"

    def name(self, path: Path) -> str:
        """What the warehouse's ledger calls a file."""
        return f"{self.teacher}/{path.name}"

    def files(self) -> list[Path]:
        """Every finished shard, in order."""
        return sorted(self.folder.glob("*.parquet"))


def write_shard(path: Path, scores: pl.DataFrame, where: Mapping[str, Any]) -> None:
    """Write a shard beside its name, flush it to disk and rename it.

    Args:
        path: The file.
        scores: `query_hash, passage_hash, logit, n_tokens, truncated`.
        where: precision, device, versions and seconds, kept in the file's metadata.

    Raises:
        DiskFull: There is no room for it; no file is left.
    """
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    for left_over in path.parent.glob(f"{path.name}.tmp-*"):
        left_over.unlink(missing_ok=True)
    beside = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    table = scores.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items()).to_arrow()
    table = table.replace_schema_metadata({WHERE: json.dumps(dict(where), sort_keys=True)})
    try:
        with told_when_full(path, "write a shard"):
            pq.write_table(table, beside, compression="zstd")
            sync(beside)
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    sync(path.parent)


def read_where(path: Path) -> dict[str, Any]:
    """Read back where a shard was computed: precision, device, versions, seconds.

    Raises:
        ValueError: The file is not a shard of ours.
    """
    import pyarrow.parquet as pq

    metadata = pq.read_schema(path).metadata or {}
    if WHERE.encode() not in metadata:
        raise ValueError(f"{path} doesn't say where it was computed; it is not a shard of ours; move it away")
    where: dict[str, Any] = json.loads(metadata[WHERE.encode()])
    return where
