"""`remine search`: what each system finds, side by side."""

import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import HERE, Format, Home
from flows.cli.tables import show
from flows.cli.terminal import plain, print_table

if TYPE_CHECKING:
    import polars as pl


def search(
    text: Annotated[str, typer.Argument(help="What to look for.")],
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="Passages per system.")] = 5,
    recipe: Annotated[str, typer.Option(help="Use this recipe's last run.", show_default="the last run")] = "",
    format: Format = "table",
    home: Home = HERE,
) -> None:
    """Show what the base, the taught student and the teacher find for a text.

    The teacher re-ranks what the two others found. A student's score is its similarity, the teacher's is a logit.

    **Example:** `remine search "remove duplicate rows [r, dplyr]" -k 3`
    """
    from flows.cli.tables import existing
    from tasks.search import search as find
    from tasks.where import Where

    existing(home)
    found = find(Where(home=home.resolve()), text, k, recipe)
    if format == "table":
        side_by_side(found)
    else:
        show(found, format)


def side_by_side(found: "pl.DataFrame") -> None:
    """One column per system, one row per rank."""
    columns: dict[str, list[str]] = {}
    for row in found.iter_rows(named=True):
        shown = textwrap.shorten(plain(row["text"].replace("\n", " ")), 160, placeholder=" …")
        columns.setdefault(row["system"], []).append(f"{row['score']:.3f}  {row['id']}\n{shown}")
    depth = max(map(len, columns.values()))
    rows = [[rank + 1, *(hits[rank] if rank < len(hits) else "" for hits in columns.values())] for rank in range(depth)]
    print_table(["", *columns], rows, lines=True)
