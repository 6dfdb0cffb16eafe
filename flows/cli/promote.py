"""`remine promote` and `remine rollback`: which student is in use, by hand."""

from typing import Annotated

import typer

from flows.cli.options import HERE, Home
from flows.cli.tables import existing
from flows.cli.terminal import say

Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason, kept in the table `promotions`.")]


def promote(
    run: Annotated[int, typer.Argument(min=1, help="Number of the run, as `remine runs` lists it.")],
    number: Annotated[int, typer.Option("--round", min=1, help="Whose student: the round.")],
    why: Why = "",
    home: Home = HERE,
) -> None:
    """Put the student of one round in use, whatever the run itself decided: `remine export` and `search` follow.

    It stays until a run compares students anew; a run that finds everything as it was changes nothing.

    **Example:** `remine promote 3 --round 2`
    """
    existing(home)
    from tasks.promote.by_hand import promote_by_hand
    from tasks.where import Where

    done = promote_by_hand(Where(home=home.resolve()), run, number, why)
    say(f"{done.system} of run {run} is in use now ({done.sentence}); {done.path} says so.")
    say(f"Everything has to be encoded again with it; `remine export {run} DIR` writes it.")
    say("`remine rollback` takes it back.")


def rollback(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="Name of the recipe, as `remine runs` lists it.")],
    why: Why = "",
    home: Home = HERE,
) -> None:
    """Put the student back in use that a recipe had before; `FROM promotions` tells who decided what, and why.

    **Example:** `remine rollback sample`
    """
    existing(home)
    from tasks.promote.incumbent import roll_back
    from tasks.where import Where

    gone, back = roll_back(Where(home=home.resolve()), recipe, why)
    say(f"{back['system']} of run {back['run_id']} is in use again; {gone['system']} of run {gone['run_id']} is not.")
