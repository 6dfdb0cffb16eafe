"""What the warehouse says of itself: tables, views and macros with the meaning of every column."""

from dataclasses import dataclass
from typing import Literal

import duckdb

from warehouse.connect import Warehouse

RELATIONS = """
SELECT 'table' AS kind, table_name AS name, comment FROM duckdb_tables() WHERE NOT internal
UNION ALL
SELECT 'view', view_name, comment FROM duckdb_views() WHERE NOT internal
ORDER BY kind, name
"""
COLUMNS = """
SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal
ORDER BY table_name, column_index
"""
MACROS = """
SELECT function_name, parameters, comment FROM duckdb_functions()
WHERE NOT internal AND function_type = 'table_macro'
ORDER BY function_name
"""


@dataclass(frozen=True)
class Column:
    """A column: its name, its DuckDB type and what it means.

    Attributes:
        meaning: Its comment; empty for the columns of a macro, which DuckDB cannot comment on.
    """

    name: str
    type: str
    meaning: str


@dataclass(frozen=True)
class Relation:
    """Something that can stand after FROM.

    Attributes:
        kind: What it is.
        name: Its name.
        meaning: Its comment.
        columns: What it holds, in order.
        parameters: What a macro is called with, in order; empty for tables and views.
    """

    kind: Literal["table", "view", "macro"]
    name: str
    meaning: str
    columns: tuple[Column, ...]
    parameters: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The name, with the parameters of a macro."""
        return f"{self.name}({', '.join(self.parameters)})" if self.kind == "macro" else self.name


def catalog(wh: Warehouse) -> list[Relation]:
    """Everything that can be asked: views, then macros, then tables, each by name."""
    with wh.read() as connection:
        columns: dict[str, list[Column]] = {}
        for relation, name, kind, comment in connection.execute(COLUMNS).fetchall():
            columns.setdefault(relation, []).append(Column(name, kind, comment or ""))
        found = connection.execute(RELATIONS).fetchall()
        relations = [Relation(kind, name, comment or "", tuple(columns[name])) for kind, name, comment in found]
        macros = [_macro(connection, *row) for row in connection.execute(MACROS).fetchall()]
    views = [relation for relation in relations if relation.kind == "view"]
    return [*views, *macros, *(relation for relation in relations if relation.kind == "table")]


def keywords(wh: Warehouse) -> list[str]:
    """DuckDB's words, in capitals: for completion."""
    with wh.read() as connection:
        rows = connection.execute("SELECT DISTINCT upper(keyword_name) FROM duckdb_keywords() ORDER BY 1").fetchall()
    return [str(row[0]) for row in rows]


def _macro(connection: duckdb.DuckDBPyConnection, name: str, parameters: list[str], comment: str | None) -> Relation:
    nothing = ", ".join("NULL" for _ in parameters)
    shape = connection.execute(f"DESCRIBE FROM {name}({nothing})").fetchall()
    columns = tuple(Column(row[0], row[1], "") for row in shape)
    return Relation("macro", name, comment or "", columns, tuple(parameters))
