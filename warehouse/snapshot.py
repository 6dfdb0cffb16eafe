"""Publish a read-only copy of the warehouse, for notebooks and BI tools that stay open for long."""

import os
import subprocess
import time
from pathlib import Path

from warehouse.connect import Warehouse, open_file
from warehouse.disk import told_when_full
from warehouse.errors import WarehouseError


def snapshot_path(wh: Warehouse) -> Path:
    """Where the snapshot is: beside the warehouse."""
    return wh.path.with_name(f"{wh.path.stem}.snapshot{wh.path.suffix}")


def publish(wh: Warehouse, every: float = 0.0) -> Path:
    """Copy the warehouse beside it, whole and read-only, and return the path.

    Whoever has the old snapshot open keeps it; a new opening sees the new one. `snapshot_info` has its age and run.

    Args:
        wh: The warehouse.
        every: Seconds that must have passed since the last snapshot; a younger one is left as it is.
    """
    target = snapshot_path(wh)
    if every > 0 and target.exists() and time.time() - target.stat().st_mtime < every:
        return target
    deadline = time.monotonic() + wh.lock_seconds
    beside = target.with_name(f"{target.name}.tmp-{os.getpid()}")
    with wh.writing("publish a snapshot", deadline):
        for left_over in target.parent.glob(f"{target.name}.tmp-*"):  # writers take turns: whoever made it was killed
            left_over.unlink(missing_ok=True)
        try:
            with told_when_full(beside, "publish a snapshot"):  # told before the half copy is removed
                _copy(wh, beside, deadline)
            beside.chmod(0o444)
            # Left by somebody who opened the old snapshot for writing: DuckDB would apply it to the new one.
            Path(f"{target}.wal").unlink(missing_ok=True)
            beside.replace(target)
            _sync(target.parent)
        finally:
            beside.unlink(missing_ok=True)
    return target


def _copy(wh: Warehouse, beside: Path, deadline: float) -> None:
    """Copy the file while a read-only connection keeps every writer out.

    Another process copies: if this one opened the file and closed it again, the connection's lock would be gone.
    """
    with wh.opened_to_write(deadline) as connection:
        connection.execute("DELETE FROM snapshots")
        connection.execute("INSERT INTO snapshots SELECT now(), max(run_id) FROM runs")
    connection = open_file(wh.path, True, deadline)
    try:
        if Path(f"{wh.path}.wal").exists():
            raise WarehouseError(
                f"{wh.path}.wal is still there: another program wrote just now, or the disk has no room to take it "
                "over; a copy without it would lack what it holds; publish the snapshot again"
            )
        command = ["cp", "--", str(wh.path), str(beside)]
        copied = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
        if copied.returncode:
            raise OSError(copied.stderr.strip())
    finally:
        connection.close()
    _sync(beside)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
