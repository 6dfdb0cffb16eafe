"""Results as people and programs want them."""

import json
import sys
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from flows.cli.terminal import print_table

if TYPE_CHECKING:
    import polars as pl

    from warehouse.connect import Warehouse

AnyFormat = Literal["table", "csv", "spreadsheet", "json", "parquet"]


def existing(home: Path) -> "Warehouse":
    """The warehouse of a folder, with the tables and views of this version.

    Raises:
        FileNotFoundError: There is none; asking must not make an empty one.
    """
    from tasks.record import warehouse_of
    from tasks.where import Where

    where = Where(home=home.resolve())
    if not where.warehouse_path.is_file():
        raise FileNotFoundError(
            f"{where.warehouse_path}: there is no warehouse yet; `remine run` makes it, or name its folder with --home"
        )
    warehouse = warehouse_of(where)
    warehouse.upgrade()
    return warehouse


def show(found: "pl.DataFrame | Any", format: AnyFormat) -> None:
    """Write a result to stdout.

    Args:
        found: The rows, as a Polars frame or an Arrow table; column names may repeat in the latter.
        format: A table escapes control characters, a spreadsheet formulas; the others carry texts as they are stored.
    """
    if format == "table":
        print_table(*names_and_rows(found))
        return
    whole = BytesIO()
    write(found, format, whole)
    sys.stdout.flush()
    sys.stdout.buffer.write(whole.getvalue())
    sys.stdout.flush()


def save(found: Any, format: AnyFormat, path: Path) -> None:
    """Write a result to a file, whole or not at all.

    Args:
        found: The rows, as an Arrow table.
        format: csv, spreadsheet, json or parquet.
        path: The file; one that is there is replaced.
    """
    from tasks.replacing import replacing

    with replacing(path) as beside, beside.open("wb") as file:
        write(found, format, file)


def write(found: "pl.DataFrame | Any", format: str, file: BinaryIO) -> None:
    """Write a result as csv, json or parquet; for a spreadsheet as CSV with a mark that says it is UTF-8.

    JSON has no NaN and no infinity: null stands for them.

    Raises:
        ValueError: Two columns have the same name, which these formats do not allow.
    """
    import polars as pl

    names = list(found.columns) if isinstance(found, pl.DataFrame) else list(found.column_names)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{', '.join(twice)}: a column name comes twice in the answer; name one of them with AS")
    frame = found if isinstance(found, pl.DataFrame) else pl.DataFrame(found)
    if format == "parquet":
        frame.write_parquet(file)
    elif format == "json":
        file.write(f"{frame.cast(dict(numbers(frame.schema))).write_json()}\n".encode())
    elif format == "spreadsheet":
        at_rest(flat(frame)).write_csv(file, include_bom=True)
    else:
        flat(frame).write_csv(file)


def names_and_rows(found: "pl.DataFrame | Any") -> tuple[list[str], list[tuple[object, ...]]]:
    """Column names and rows, lists and structures as JSON text."""
    import polars as pl

    names = list(found.columns) if isinstance(found, pl.DataFrame) else list(found.column_names)
    if not isinstance(found, pl.DataFrame):
        found = pl.DataFrame(found.rename_columns([str(number) for number in range(len(names))]))
    return names, flat(found).rows()


def at_rest(found: "pl.DataFrame") -> "pl.DataFrame":
    """Put an apostrophe before names and texts that a spreadsheet would run as a formula."""
    import polars as pl

    from tasks.review.table import harmless

    texts = [
        pl.Series(name, [None if value is None else harmless(value) for value in found[name].to_list()], pl.String)
        for name, kind in found.schema.items()
        if kind == pl.String
    ]
    return found.with_columns(texts).rename({name: harmless(name) for name in found.columns})


def flat(found: "pl.DataFrame") -> "pl.DataFrame":
    """Write lists and structures as JSON text, since CSV and tables have no cells for them."""
    import polars as pl

    nested = [name for name, kind in found.schema.items() if kind.is_nested()]
    readable = found.select(nested).cast(dict(numbers(found.select(nested).schema)))
    texts = [
        pl.Series(
            name, [None if value is None else json.dumps(value, default=str) for value in readable[name].to_list()]
        )
        for name in nested
    ]
    return found.with_columns(texts)


def numbers(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Columns and types with DECIMALs as doubles, since JSON would hold them as texts: 1.5 is a DECIMAL in SQL."""
    import polars as pl

    for name, kind in schema.items():
        if isinstance(kind, pl.Decimal):
            yield name, pl.Float64
        elif isinstance(kind, pl.List):
            yield name, pl.List(dict(numbers({"": kind.inner}))[""])
        elif isinstance(kind, pl.Array):
            yield name, pl.Array(dict(numbers({"": kind.inner}))[""], kind.size)
        elif isinstance(kind, pl.Struct):
            yield name, pl.Struct(dict(numbers({field.name: field.dtype for field in kind.fields})))
        else:
            yield name, kind
