"""Results as people and programs want them."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from flows.cli.terminal import print_table

if TYPE_CHECKING:
    import polars as pl

    from warehouse.connect import Warehouse


def existing(home: Path) -> "Warehouse":
    """The warehouse of a folder.

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
    return warehouse_of(where)


def show(found: "pl.DataFrame", format: Literal["table", "csv", "json"]) -> None:
    """Write a result to stdout.

    Args:
        found: The rows.
        format: A table escapes control characters; CSV and JSON carry the texts as they are stored.
    """
    if format == "csv":
        sys.stdout.write(flat(found).write_csv())
    elif format == "json":
        sys.stdout.write(found.write_json() + "\n")
    else:
        print_table(found.columns, flat(found).rows())


def flat(found: "pl.DataFrame") -> "pl.DataFrame":
    """Write lists and structures as JSON text, since CSV and tables have no cells for them."""
    import polars as pl

    nested = [name for name, kind in found.schema.items() if kind.is_nested()]
    texts = [
        pl.Series(name, [None if value is None else json.dumps(value, default=str) for value in found[name].to_list()])
        for name in nested
    ]
    return found.with_columns(texts)
