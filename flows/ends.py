"""How runs end when they cannot say it themselves: in the warehouse, and on the Prefect server."""

import logging
from typing import Any
from uuid import UUID

from tasks.progress import ask_once
from tasks.record import warehouse_of
from tasks.run import flow_run_id
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.load import close_killed
from warehouse.register import ended_flow_runs, finish_flow_run

HOOK_SECONDS = 30.0  # a hook waits no longer for the warehouse: Prefect's runner waits for the hook

GONE = "Its process is gone; what it had finished is kept."
OPEN: Any = {"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}}

log = logging.getLogger("remine.run")


def close_run(flow: Any, flow_run: Any, state: Any) -> None:
    """Close the warehouse's row of a flow run that ended; one that was closed already stays as it is.

    A hook of Prefect's, which calls it by these names. In the run's own process there is seldom anything to do; where
    that process was killed, Prefect's runner calls it instead.
    """
    where = Where.model_validate(flow_run.parameters.get("where") or {})
    status = {"CANCELLED": "cancelled", "CANCELLING": "cancelled", "CRASHED": "crashed"}.get(state.type.value, "failed")
    if not where.warehouse_path.exists():
        return
    try:
        warehouse = Warehouse(where.warehouse_path, HOOK_SECONDS)
        finish_flow_run(warehouse, str(flow_run.id), status, state.message or status)
    except Exception as error:  # the next run closes it
        log.error("the end of flow run %s could not be written down: %s", flow_run.id, error)


# What every flow is given.
ENDS: dict[str, Any] = {"on_failure": [close_run], "on_crashed": [close_run], "on_cancellation": [close_run]}


def close_gone(where: Where) -> None:
    """Close runs whose process is gone, and tell the server what it has missed; call it while no run can be.

    Whoever still says that it is running would hold the run lock if it were. A server that does not know a run, or does
    not answer, keeps what it has.
    """
    warehouse = warehouse_of(where)
    for run, _ in close_killed(warehouse):
        log.warning("run %d was killed: it is closed as crashed", run)
    if flow_run_id() is None:  # outside of Prefect there is no server, and asking for one would start one
        return
    try:
        ask_once(lambda: _tell_missed(warehouse))
    except Exception as error:
        log.info("the server does not take the ends of earlier runs: %s", error)


def _tell_missed(warehouse: Warehouse) -> None:
    """Give runs that have ended, and that the server still has running, the state that the warehouse knows.

    It was away then, for longer than they waited, or they were killed.
    """
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
    from prefect.states import Cancelled, Completed, Crashed, Failed

    states: Any = {"completed": Completed, "failed": Failed, "cancelled": Cancelled, "crashed": Crashed}
    with get_client(sync_client=True) as client:
        open_runs = client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(OPEN))
        for flow_run, (status, error) in ended_flow_runs(warehouse, [str(each.id) for each in open_runs]).items():
            state = states[status](message=GONE if status == "crashed" else error)
            within = FlowRunFilter(id=FlowRunFilterId(any_=[UUID(flow_run)]))
            for task_run in client.read_task_runs(flow_run_filter=within):
                if task_run.state is not None and not task_run.state.is_final():
                    client.set_task_run_state(task_run.id, state, force=True)
            client.set_flow_run_state(UUID(flow_run), state, force=True)
