"""What `remine doctor` asks the warehouse."""

from dataclasses import dataclass

from warehouse.connect import Warehouse
from warehouse.rows import first, only

STORAGE = "v1.4"


@dataclass(frozen=True)
class Facts:
    """How the warehouse stands.

    Attributes:
        runs: How many runs there are.
        running: Runs that say that they are running, in order.
        ended: The last run with its status and error, where it ended otherwise than completed.
        loads: Rows of the ledger.
        scores: Teacher scores.
    """

    runs: int
    running: list[int]
    ended: tuple[int, str, str] | None
    loads: int
    scores: int


def facts_of(warehouse: Warehouse) -> Facts:
    """Count runs, loads and scores."""
    with warehouse.read() as connection:
        (runs,) = only(connection, "SELECT count(*) FROM runs")
        open_ = connection.execute("SELECT run_id FROM runs WHERE status = 'running' ORDER BY run_id").fetchall()
        last = first(connection, "SELECT run_id, status, error FROM runs ORDER BY run_id DESC LIMIT 1")
        (loads,) = only(connection, "SELECT count(*) FROM shard_loads")
        (scores,) = only(connection, "SELECT count(*) FROM teacher_scores")
    ended = None
    if last is not None and last[1] not in ("completed", "running"):
        ended = (int(last[0]), str(last[1]), str(last[2] or ""))
    return Facts(int(runs), [int(row[0]) for row in open_], ended, int(loads), int(scores))


def storage_of(warehouse: Warehouse) -> str:
    """The storage version of the file, as DuckDB names it: v1.4.0+."""
    sql = "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = current_database()"
    with warehouse.read() as connection:
        (found,) = only(connection, sql)
    return str(found)
