"""`remine sql`: questions to the warehouse."""

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from flows.cli.options import HERE, Home
from flows.cli.tables import AnyFormat, existing, save, show

SUFFIXES: dict[str, AnyFormat] = {".csv": "csv", ".json": "json", ".parquet": "parquet"}
Chosen = Annotated[
    AnyFormat | None,
    typer.Option(
        "--format",
        help="table is for people; csv carries texts as they are; spreadsheet is CSV of which no spreadsheet runs a "
        "cell as a formula.",
        show_default="by the name of --out, else table",
    ),
]
Out = Annotated[Path | None, typer.Option("--out", help="Write the answer to a file; one that is there is replaced.")]
COMMENT = re.compile(r"--[^=\s]*\s")  # no option has a blank in its name, so this begins a query


class SqlCommand(TyperCommand):
    """A command whose query may begin with a comment, as those do that are copied from a page."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        return super().parse_args(ctx, [f" {each}" if COMMENT.match(each) else each for each in args])


def sql(
    query: Annotated[
        str | None, typer.Argument(help="One query; - reads it from standard input. Without it, a prompt opens.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Read the query from a file.")] = None,
    format: Chosen = None,
    out: Out = None,
    home: Home = HERE,
) -> None:
    """Ask the warehouse. It is only read, and a run that writes at the moment is waited for.

    The tables and views describe themselves: `.tables` and `.schema NAME` in the prompt, docs/sql.md on paper.

    **Example:** `remine sql "SELECT system, value FROM leaderboard WHERE measure = 'nDCG@10'" --out board.csv`
    """
    question = asked(query, file)
    if question is None:
        if out or format not in (None, "table"):
            raise ValueError("--out and --format are for one query: give it, or name its file with --file")
        from flows.cli.prompt import converse

        converse(existing(home))
        return
    wanted = chosen_format(format, out)
    if out is not None:
        from tasks.replacing import check_place

        check_place(out)
    from warehouse.queries import select_arrow

    found = select_arrow(existing(home), question)
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
    chosen: AnyFormat | None = format or (SUFFIXES.get(out.suffix.lower()) if out else "table")
    if chosen is None or (out and chosen == "table"):
        raise ValueError(f"{out}: a file is written as csv, spreadsheet, json or parquet; say which with --format")
    if chosen == "parquet" and out is None and sys.stdout.isatty():
        raise ValueError("Parquet is not for a terminal: name a file with --out, or pipe it on")
    return chosen
