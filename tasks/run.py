"""Opening and closing a run in the warehouse."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from tasks.artifacts import installed_versions
from tasks.record import warehouse_of
from tasks.refs import Run
from tasks.settings import Settings
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.load import finish_run, start_run
from warehouse.snapshot import publish

log = logging.getLogger("remine.run")


@contextmanager
def opened_run(flow: str, name: str, recipe: Settings, where: Where, outer: Run | None = None) -> Iterator[Run]:
    """Enter an invocation into `runs`, and how it ended when it ends.

    Args:
        flow: Name of the flow.
        name: Name of the recipe.
        recipe: Its settings, kept as JSON.
        where: Machine and paths.
        outer: The run that this one is a part of, where it is.
    """
    where.home.mkdir(parents=True, exist_ok=True)
    facts = {
        "flow_run_id": flow_run_id(),
        "where": json.loads(where.model_dump_json()),
        "versions": installed_versions(),
        **({"part_of": outer.id} if outer else {}),
    }
    warehouse = warehouse_of(where)
    run = Run(id=start_run(warehouse, flow, name, recipe.model_dump_json(), facts), recipe=name, where=where)
    try:
        yield run
    except KeyboardInterrupt:
        _close(warehouse, run.id, "cancelled", "stopped by a signal")
        raise
    except BaseException as error:
        # Prefect turns SIGTERM into an exception of its own, which is no KeyboardInterrupt.
        stopped = type(error).__name__ == "TerminationSignal"
        status, told = (
            ("cancelled", "stopped by a signal") if stopped else ("failed", f"{type(error).__name__}: {error}")
        )
        _close(warehouse, run.id, status, told)
        raise
    finish_run(warehouse, run.id, "completed", None)
    publish(warehouse)


def _close(warehouse: Warehouse, run: int, status: str, told: str) -> None:
    """Write down how a run ended, where the warehouse still takes it: what the run failed with is the error to tell."""
    try:
        finish_run(warehouse, run, status, told)
    except Exception as error:
        log.error("run %d ended as %s, and that could not be written down: %s", run, status, error)


def flow_run_id() -> str | None:
    """The Prefect flow run that this is, where it is one."""
    from prefect.runtime import flow_run

    found = flow_run.id
    return str(found) if found else None
