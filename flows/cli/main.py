"""The command line `remine`: one file per command group, and errors as sentences."""

import os
import sys
from typing import Annotated

import typer

from flows.cli import (
    clean,
    compare,
    doctor,
    evaluate,
    export,
    init,
    lists,
    plan,
    promote,
    refresh,
    report,
    resume,
    review,
    run,
    runs,
    sample,
    score,
    search,
    serve,
    sql,
    sweep,
    teach,
    ui,
)
from flows.cli.terminal import describe, say

app = typer.Typer(
    name="remine",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        from importlib.metadata import version as installed

        typer.echo(f"remine {installed('remine')}")
        raise typer.Exit


@app.callback()
def remine(
    show_version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version and end.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error came from, and Prefect's own log.")
    ] = False,
) -> None:
    """Teach a small, fast retriever the judgement of a slow, accurate one.

    **Start** with `remine init YOUR_DATA`, which writes a recipe, then `remine run`.

    **Look** at what came out with `remine runs`, `remine search "words"`, `remine sql "FROM leaderboard"`
    and `remine ui`.
    """


app.command(rich_help_panel="Make")(init.init)
app.command(rich_help_panel="Make")(plan.plan)
app.command(rich_help_panel="Make")(run.run)
app.command(rich_help_panel="Make")(sweep.sweep)
app.command(rich_help_panel="Make")(teach.teach)
app.command(rich_help_panel="Make")(resume.resume)
app.command(rich_help_panel="Make")(refresh.refresh)
app.command(rich_help_panel="Make")(serve.serve)
app.command(rich_help_panel="Make")(score.score)
app.command(rich_help_panel="Make")(export.export)
app.command(rich_help_panel="Make")(promote.promote)
app.command(rich_help_panel="Make")(promote.rollback)
app.command(rich_help_panel="Make")(sample.sample)
app.add_typer(review.app, name="review", rich_help_panel="Share")
app.add_typer(lists.app, name="lists", rich_help_panel="Share")
app.command(rich_help_panel="Look")(runs.runs)
app.command(rich_help_panel="Look")(report.report)
app.command(rich_help_panel="Look")(compare.compare)
app.command(rich_help_panel="Look")(evaluate.evaluate)
app.command(rich_help_panel="Look")(search.search)
app.command(rich_help_panel="Look", cls=sql.SqlCommand)(sql.sql)
app.command(rich_help_panel="Look")(ui.ui)
app.command(rich_help_panel="Keep in order")(doctor.doctor)
app.command(rich_help_panel="Keep in order")(clean.clean)


def main() -> None:
    """Run the command line; an error is one message, its traceback shown by `--debug`."""
    try:
        app()
    except BrokenPipeError:
        # Whoever read our output has seen enough (`| head`); Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        say(f"remine: {describe(error)}")
        sys.exit(1)


if __name__ == "__main__":
    main()
