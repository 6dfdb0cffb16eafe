"""`remine review`: doubtful candidates out to people, their answers back as labels."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import HERE, Home
from flows.cli.tables import existing
from flows.cli.terminal import say

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")

Band = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="LOW HIGH",
        show_default="those with the verdict ambiguous",
        help="Probabilities between which a candidate is doubtful; for the policies keep and soften.",
    ),
]
WithVerdicts = Annotated[
    bool,
    typer.Option(
        "--with-verdicts",
        help="Show the student's rank and the teacher's probability, verdict and reason; who sees them first tends to "
        "agree with them.",
    ),
]


@app.callback()
def review() -> None:
    """Let people judge what the teacher is not sure about; training uses their answers.

    **Example:** `remine review export --out review.csv`, fill the column `relevant`, `remine review import review.csv`,
    then `remine run` again: nothing that is scored is scored again.
    """


@app.command("export")
def export_(
    out: Annotated[Path, typer.Option("--out", help="The CSV file to make.")],
    run: Annotated[int | None, typer.Option(min=1, show_default="the last one", help="Number of the run.")] = None,
    number: Annotated[
        int | None, typer.Option("--round", min=1, show_default="the last one", help="Round of the run.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Doubtful candidates at most, most doubtful first; 0: all.")] = 0,
    certain_share: Annotated[
        float, typer.Option(min=0, max=10, help="Certain candidates to add as a check, for each doubtful one.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw of certain ones, and of the order of rows.")] = 0,
    band: Band = None,
    with_verdicts: WithVerdicts = False,
    home: Home = HERE,
) -> None:
    """Write candidates that nobody has labelled to a CSV file, with an empty column `relevant`.

    What student and teacher think of a row is left out, and rows stand in an order drawn at random, query by query, so
    that doubtful and certain ones look alike. Answer yes, no or a grade from 0 (above 0: relevant); an empty cell is
    no answer, `withdraw` takes an earlier one back. Cells that a spreadsheet would run as a formula begin with an
    apostrophe.

    **Example:** `remine review export --out review.csv --limit 200`
    """
    existing(home)
    from tasks.review.exporting import Wanted, export_queue
    from tasks.where import Where

    wanted = Wanted(run, number, limit, certain_share, seed, band, with_verdicts)
    made = export_queue(Where(home=home.resolve()), wanted, out)
    say(
        f"Wrote {out}: run {made.run}, round {made.number}, {made.doubtful:,} doubtful candidates and {made.certain:,} "
        f"certain ones as a check. Fill the column relevant, then: `remine review import {out}`"
    )


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The CSV file, filled.")],
    reviewer: Annotated[str, typer.Option(metavar="NAME", show_default="nobody named", help="Whose answers.")] = "",
    home: Home = HERE,
) -> None:
    """Make labels of the filled rows: all of them, or none where one cannot be used.

    They count in training alone, from the next round on: yes makes a positive, no confirms a negative. The column
    `pair` says which texts an answer is about; a row whose ids or texts are no longer those of its pair is refused.

    **Example:** `remine review import review.csv --reviewer ann`
    """
    existing(home)
    from tasks.review.importing import import_answers
    from tasks.where import Where

    made = import_answers(Where(home=home.resolve()), file, reviewer)
    say(
        f"{file}: {made.new:,} labels are new, {made.changed:,} changed, {made.withdrawn:,} withdrawn, "
        f"{made.unchanged:,} as they were. The next round or `remine run` trains on them."
    )
