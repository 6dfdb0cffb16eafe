"""The flow `sweep`: one recipe in several variants, held against each other; nothing is computed twice."""

import logging
from pathlib import Path
from typing import Any

from prefect import flow

from flows.cancellation import Halted
from flows.distill import distill
from flows.ends import ENDS
from flows.invocation import exclusively
from flows.variants import Sweep
from tasks.refs import Run
from tasks.report.sweeping import Outcome, find_outcome, write_sweep
from tasks.where import Where

log = logging.getLogger("remine.sweep")


@flow(name="sweep", flow_run_name="{sweep.name} sweep", persist_result=False, **ENDS)
def sweep_variants(sweep: Sweep, where: Where = Where()) -> Any:
    """Run every variant of a recipe as a run of `distill`; the table is written anew as each ends.

    Args:
        sweep: The recipe, and the settings that vary.
        where: Machine, folder and precision; none of it changes what comes out beyond rounding.

    Returns:
        The folder with `table.csv` and `plot.svg`, `sweeps/NAME` beside the warehouse.

    Raises:
        RuntimeError: A variant failed; the others are in the table.
    """
    return exclusively("sweep", sweep_each, sweep, where)


def sweep_each(run: Run, sweep: Sweep) -> Path:
    """The variants, one after the other; what stops one of them ends the sweep."""
    outcomes: list[Outcome] = []
    failed: dict[str, str] = {}
    where, folder = run.where, run.where.home / "sweeps" / sweep.name
    variants, measure = sweep.variants, sweep.measure or sweep.recipe.evaluation.measure
    for number, variant in enumerate(variants, 1):
        log.info("variant %d of %d: %s", number, len(variants), variant.recipe.name)
        state: Any = distill(variant.recipe, where, return_state=True)
        if state.is_cancelled():
            raise Halted(str(state.message))
        if not state.is_completed():
            failed[variant.recipe.name] = str(state.message)
        else:
            outcomes.append(find_outcome(where, variant.recipe.name, variant.values))
            write_sweep(outcomes, measure, folder)
    if failed:
        told = "\n".join(f"  {name}: {error}" for name, error in failed.items())
        raise RuntimeError(f"{len(failed)} of {len(variants)} variants failed; the others are kept:\n{told}")
    return folder
