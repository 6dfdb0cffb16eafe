"""`remine resume`: a run that did not come to its end goes on."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.options import HERE, Home
from flows.cli.running import run_here
from flows.cli.sweep import show_sweep
from flows.cli.tables import existing
from flows.cli.terminal import prepare_logs, say

if TYPE_CHECKING:
    from warehouse.connect import Warehouse


def resume(
    run: Annotated[int, typer.Argument(min=1, help="Number of the run, as `remine runs` lists it.")],
    home: Home = HERE,
) -> None:
    """Go on with a run that failed, was cancelled or was killed: the same flow, the same settings, the same machine.

    What it had finished is found again, a training goes on from its last saved state. It gets a new number. A variant
    goes on with the whole sweep that it is a part of. Call it from the folder in which the run was started, where paths
    in its recipe are relative.

    **Example:** `remine resume 7`
    """
    prepare_logs()
    warehouse = existing(home)
    from flows.offered import offered
    from tasks.where import Where

    row = whole(warehouse, run)
    if row["status"] == "completed":
        say(f"Run {row['run_id']} came to its end; run again, it finds everything and makes nothing anew.")
    which = offered(row["flow"])
    asked = which.asks.model_validate_json(row["settings"])
    told: dict[str, Any] = json.loads(row["facts"]).get("where", {})
    where = Where.model_validate({**told, "home": home.resolve()})
    of = f", the sweep that run {run} is a part of" if row["run_id"] != run else ""
    say(f"Going on with run {row['run_id']}{of}: {row['flow']} of {row['recipe']}.")
    result = run_here(which.load, asked, where)
    if which.name == "sweep":
        show_sweep(result)
    elif sentence := getattr(result, "sentence", ""):
        typer.echo(sentence)


def whole(warehouse: "Warehouse", run: int) -> dict[str, Any]:
    """The row of a run; of a sweep's variant, that of the sweep."""
    from warehouse.report_rows import run_row

    row = run_row(warehouse, run)
    outer = json.loads(row["facts"]).get("part_of")
    return row if outer is None else run_row(warehouse, int(outer))
