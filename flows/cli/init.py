"""`remine init`: from a person's data to a recipe."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.terminal import say


def init(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER_OR_FILE",
            help="A BEIR folder, pairs as JSONL, CSV or Parquet, or a Hugging Face data set, saved or cloned.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Where to write the recipe.")] = Path("recipe.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a recipe that is there already.")] = False,
) -> None:
    """Look at your data and write a recipe for it.

    Prints what it found: counts, lengths, scripts, splits, and what you should know before training on it.

    **Example:** `remine init data/my-corpus --out my-corpus.toml`
    """
    from tasks.ingest.look import look
    from tasks.ingest.starter import write_recipe
    from tasks.replacing import check_place

    check_place(out)
    if out.exists() and not force:
        raise FileExistsError(f"{out}: there is a recipe already; name another with --out, or replace it with --force")
    found = look(data)
    typer.echo(found.text())
    if force:
        out.unlink(missing_ok=True)
    write_recipe(found, out)
    say(f"\nWrote {out}. Next: `remine run {out}`")
