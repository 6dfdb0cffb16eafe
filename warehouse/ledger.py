"""What the ledger says has been loaded."""

from warehouse.connect import Warehouse


def loaded_names(wh: Warehouse, table: str) -> set[str]:
    """Names of the files whose rows are in a fact table."""
    with wh.read() as connection:
        rows = connection.execute("SELECT name FROM shard_loads WHERE table_name = ?", [table]).fetchall()
    return {str(row[0]) for row in rows}
