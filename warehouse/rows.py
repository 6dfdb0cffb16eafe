"""Small things that every use of a connection needs: whole answers, whole transactions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import duckdb


def first(
    connection: duckdb.DuckDBPyConnection, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()
) -> tuple[Any, ...] | None:
    """First row of an answer, None where it has none.

    Everything is fetched: DuckDB 2 refuses other work on a connection that has rows left.
    """
    rows = connection.execute(sql, values).fetchall()
    return rows[0] if rows else None


def only(
    connection: duckdb.DuckDBPyConnection, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()
) -> tuple[Any, ...]:
    """The row of an answer that always has exactly one: a count, an aggregate, a number of changed rows."""
    (row,) = connection.execute(sql, values).fetchall()
    return row


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All or nothing."""
    connection.execute("BEGIN TRANSACTION")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A failed COMMIT has rolled back already; the first error is the one to tell.
        with suppress(duckdb.Error):
            connection.execute("ROLLBACK")
        raise
