"""`remine export`: a run's student as a folder that loads anywhere."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import HERE, Home
from flows.cli.tables import existing
from flows.cli.terminal import say


def export(
    run: Annotated[int, typer.Argument(min=1, help="Number of the run, as `remine runs` lists it.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make.")],
    home: Home = HERE,
) -> None:
    """Copy the student that a run chose, or that `remine promote` put in its place, with its model card.

    **Example:** `remine export 3 my-student`, then `SentenceTransformer("my-student")` in Python
    """
    existing(home)
    from tasks.export.chosen import export_to
    from tasks.where import Where

    written, system = export_to(Where(home=home.resolve()), run, folder)
    say(f"Wrote {written}: {system} of run {run}.")
