"""Opening and closing a run in the warehouse."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tasks.artifacts import installed_versions
from tasks.record import warehouse_of
from tasks.refs import Run
from tasks.settings import Settings
from tasks.where import Where
from warehouse.load import finish_run, start_run
from warehouse.snapshot import publish


@contextmanager
def opened_run(flow: str, name: str, recipe: Settings, where: Where) -> Iterator[Run]:
    """Enter an invocation into `runs`, and how it ended when it ends.

    Args:
        flow: Name of the flow.
        name: Name of the recipe.
        recipe: Its settings, kept as JSON.
        where: Machine and paths.
    """
    where.home.mkdir(parents=True, exist_ok=True)
    facts = {
        "flow_run_id": flow_run_id(),
        "where": json.loads(where.model_dump_json()),
        "versions": installed_versions(),
    }
    warehouse = warehouse_of(where)
    run = Run(id=start_run(warehouse, flow, name, recipe.model_dump_json(), facts), recipe=name, where=where)
    try:
        yield run
    except KeyboardInterrupt:
        finish_run(warehouse, run.id, "cancelled", "stopped by a signal")
        raise
    except BaseException as error:
        # Prefect turns SIGTERM into an exception of its own, which is no KeyboardInterrupt.
        stopped = type(error).__name__ == "TerminationSignal"
        status, told = (
            ("cancelled", "stopped by a signal") if stopped else ("failed", f"{type(error).__name__}: {error}")
        )
        finish_run(warehouse, run.id, status, told)
        raise
    finish_run(warehouse, run.id, "completed", None)
    publish(warehouse)


def flow_run_id() -> str | None:
    """The Prefect flow run that this is, where it is one."""
    from prefect.runtime import flow_run

    found = flow_run.id
    return str(found) if found else None
