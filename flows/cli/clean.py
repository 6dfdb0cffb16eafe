"""`remine clean`: artifacts that no kept run refers to."""

from typing import Annotated

import typer

from flows.cli.options import HERE, Home
from flows.cli.tables import existing
from flows.cli.terminal import print_table, say


def clean(
    keep: Annotated[
        int,
        typer.Option("--keep", min=0, help="Newest runs of each recipe whose artifacts stay; 0: those of all runs."),
    ] = 0,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    home: Home = HERE,
) -> None:
    """Remove artifacts that no kept run refers to, and what killed runs left half written.

    Shows first what would go and how much room it takes. Students in use stay, and so do all teacher scores and
    everything in the warehouse: what is removed can be made again. (`make clean` in remine's own folder removes what
    tools cached there, and none of this.)

    **Example:** `remine clean --keep 3`
    """
    existing(home)
    from flows.locks import run_lock
    from tasks.cleaning import unused
    from tasks.ingest.wording import counted
    from tasks.leftovers import sized
    from tasks.where import Where

    where = Where(home=home.resolve())
    with run_lock(where.home, "remine clean"):
        found = unused(where, keep)
        rows = found.by_step()
        if not rows:
            say(f"Nothing to remove: every artifact is of the {counted(len(found.kept), 'run')} kept.")
            return
        print_table(["what", "folders", "size"], [(step, count, sized(size)) for step, count, size in rows])
        total = sized(sum(size for _, _, size in rows))
        if not yes and not typer.confirm(f"Remove {total}? What {counted(len(found.kept), 'run')} came from stays."):
            raise typer.Exit(1)
        found.remove()
        say(f"Removed {total}.")
