"""`remine sql`: questions to the warehouse."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from flows.cli.options import HERE, Home
from flows.cli.tables import existing, save, show

AnyFormat = Literal["table", "csv", "json", "parquet"]
SUFFIXES: dict[str, AnyFormat] = {".csv": "csv", ".json": "json", ".parquet": "parquet"}


def sql(
    query: Annotated[
        str | None, typer.Argument(help="One query; - reads it from standard input. Without it, a prompt opens.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Read the query from a file.")] = None,
    format: Annotated[
        AnyFormat | None,
        typer.Option("--format", help="table is for people.", show_default="by the name of --out, else table"),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the answer to a file: csv, json or parquet.")] = None,
    home: Home = HERE,
) -> None:
    """Ask the warehouse. It is only read, and a run that writes at the moment is waited for.

    The tables and views describe themselves: `.tables` and `.schema NAME` in the prompt, docs/sql.md on paper.

    **Example:** `remine sql "SELECT system, value FROM leaderboard WHERE measure = 'nDCG@10'" --out board.csv`
    """
    question = asked(query, file)
    warehouse = existing(home)
    if question is None:
        if out or format not in (None, "table"):
            raise ValueError("--out and --format are for one query: give it, or name its file with --file")
        from flows.cli.prompt import converse

        converse(warehouse)
        return
    wanted = chosen_format(format, out)
    if out is not None and warehouse.path.suffix in out.suffixes:
        raise ValueError(f"{out}: that would be taken for a warehouse, or replace it; the answer needs another name")

    from warehouse.queries import select_arrow

    found = select_arrow(warehouse, question)
    if out is None:
        show(found, wanted)
    else:
        save(found, wanted, out)


def asked(query: str | None, file: Path | None) -> str | None:
    """The question from wherever it comes, None where the prompt is to open.

    Raises:
        ValueError: Two questions were given, or the file is not UTF-8.
    """
    if query is not None and file is not None:
        raise ValueError("a query and --file were both given; only one of them can be answered")
    if file is not None:
        try:
            return file.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{file}: not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    if query == "-" or (query is None and not sys.stdin.isatty()):
        return sys.stdin.read()
    return query


def chosen_format(format: AnyFormat | None, out: Path | None) -> AnyFormat:
    """The format that was asked for, or that the name of the file says.

    Raises:
        ValueError: The answer cannot be written so.
    """
    chosen: AnyFormat | None = format or (SUFFIXES.get(out.suffix) if out else "table")
    if chosen is None or (out and chosen == "table"):
        raise ValueError(f"{out}: a file is written as csv, json or parquet; say which with --format")
    if chosen == "parquet" and out is None and sys.stdout.isatty():
        raise ValueError("Parquet is not for a terminal: name a file with --out, or pipe it on")
    return chosen
