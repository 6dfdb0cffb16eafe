"""Bring a warehouse file to the present schema: migrations once, views and comments whenever they change."""

import logging
from hashlib import blake2b
from pathlib import Path

import duckdb

from warehouse.errors import WarehouseError
from warehouse.rows import first, transaction

log = logging.getLogger("remine.warehouse")

HERE = Path(__file__).parent

LEDGER = """
CREATE TABLE IF NOT EXISTS schema_version (
    version BIGINT PRIMARY KEY,
    name VARCHAR NOT NULL,
    surface VARCHAR,
    applied_at TIMESTAMPTZ NOT NULL
)
"""


def migrations(folder: Path = HERE / "schema") -> dict[int, Path]:
    """Migration files by their time stamp (YYYYMMDDhhmmss), oldest first."""
    return {int(file.name.split("_")[0]): file for file in sorted(folder.glob("[0-9]*_*.sql"))}


def surface() -> list[Path]:
    """Views, macros and comments: what can be applied again at any time."""
    return [*sorted((HERE / "views").glob("*.sql")), HERE / "schema" / "comments.sql"]


def migrate(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Apply what is missing, in one transaction.

    Raises:
        WarehouseError: The file was made by a later version.
    """
    if is_current(connection, path):
        return
    done, _ = _state(connection)
    missing = {version: file for version, file in migrations().items() if version > done}
    statements, wanted = _wanted()
    with transaction(connection):
        connection.execute(LEDGER)
        for version, file in missing.items():
            log.info("%s: brought up to %s", path, file.stem)
            connection.execute(file.read_text("utf-8"))
            connection.execute("INSERT INTO schema_version VALUES (?, ?, NULL, now())", [version, file.stem])
        for statement in statements:
            connection.execute(statement)
        newest = "SELECT max(version) FROM schema_version"
        connection.execute(f"UPDATE schema_version SET surface = ? WHERE version = ({newest})", [wanted])


def is_current(connection: duckdb.DuckDBPyConnection, path: Path) -> bool:
    """Whether the file has every table and shows every view of this version.

    Raises:
        WarehouseError: The file was made by a later version.
    """
    done, shown = _state(connection)
    _refuse_later(done, path)
    return done == max(migrations()) and shown == _wanted()[1]


def _wanted() -> tuple[list[str], str]:
    """The statements that make the views, and their hash."""
    statements = [file.read_text("utf-8") for file in surface()]
    return statements, blake2b("\n".join(statements).encode("utf-8"), digest_size=16).hexdigest()


def check_version(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse to read a file of a later version or one that holds none of our tables.

    Raises:
        WarehouseError: See above.
    """
    done, _ = _state(connection)
    if not done:
        raise WarehouseError(
            f"{path} holds no tables of ours: another program made it, or the first run never got that far"
        )
    _refuse_later(done, path)


def _refuse_later(done: int, path: Path) -> None:
    known = max(migrations())
    if done > known:
        raise WarehouseError(
            f"{path} was made by a later version (schema {done}, this one knows {known}); "
            "update the program or use another file: writing here could lose what the later version keeps"
        )


def _state(connection: duckdb.DuckDBPyConnection) -> tuple[int, str | None]:
    """Newest migration of the file (0: none) and the hash of the views it shows; outside any transaction."""
    try:
        row = first(connection, "SELECT version, surface FROM schema_version ORDER BY version DESC LIMIT 1")
    except duckdb.CatalogException:
        return 0, None
    return (int(row[0]), row[1]) if row else (0, None)
