"""Deployments of a recipe's flows, all served by one process, one run at a time."""

from collections.abc import Sequence
from typing import Any

from flows.connection import PATIENT
from flows.offered import OFFERED
from flows.recipe import Recipe
from tasks.where import Where

POOL = "remine"
# Our modules' logs belong to the run too, and a server that is away for minutes does not end it.
ENVIRONMENT = {"PREFECT_LOGGING_EXTRA_LOGGERS": "remine", **PATIENT}
HEAD = """# For `prefect deploy --all` here; `remine serve RECIPE --yaml prefect.yaml` writes it from a recipe.
#   prefect work-pool create remine --type process && prefect work-pool set-concurrency-limit remine 1
#   prefect deploy --all && prefect worker start --pool remine
"""


def deployments(recipe: Recipe, where: Where, cron: str, timezone: str, scheduled: str) -> list[Any]:
    """A deployment of every flow for a recipe, named after it; one of them may be scheduled.

    Flows are named by module, so the process that runs them may stand in any folder.

    Args:
        recipe: What they do by default.
        where: Where.
        cron: When the scheduled one runs; empty: only when somebody asks.
        timezone: Whose clock.
        scheduled: Which flow.

    Raises:
        ValueError: Cron or time zone cannot be read.
    """
    from prefect.types.entrypoint import EntrypointType

    schedule = _schedule(cron, timezone) if cron else None
    return [
        each.load().to_deployment(
            name=recipe.name,
            description=each.about,
            parameters=each.parameters(recipe, where),
            schedule=schedule if each.name == scheduled else None,
            tags=["remine", recipe.name],
            entrypoint_type=EntrypointType.MODULE_PATH,
        )
        for each in OFFERED
    ]


def as_yaml(recipe: Recipe, where: Where, cron: str, timezone: str, scheduled: str) -> str:
    """The same deployments as a `prefect.yaml`, for a work pool of processes named `remine`.

    Settings that have their defaults are left out. Paths in it count from the folder in which the worker is started.
    """
    import yaml

    if cron:
        _schedule(cron, timezone)
    made = [
        {
            "name": recipe.name,
            "entrypoint": f"{each.module}.{each.function}",
            "description": each.about,
            "tags": ["remine", recipe.name],
            "parameters": each.parameters(recipe, where, whole=False),
            "schedules": [{"cron": cron, "timezone": timezone}] if cron and each.name == scheduled else [],
            "work_pool": {"name": POOL, "job_variables": {"working_dir": ".", "env": dict(ENVIRONMENT)}},
        }
        for each in OFFERED
    ]
    document = {"name": "remine", "pull": [], "deployments": made}
    told: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)
    return HEAD + told


def _schedule(cron: str, timezone: str) -> Any:
    from prefect.client.schemas.schedules import CronSchedule
    from prefect.schedules import Cron
    from pydantic import ValidationError

    try:
        CronSchedule(cron=cron, timezone=timezone)
    except ValidationError as error:
        wrong = "; ".join(item["msg"].removeprefix("Value error, ") for item in error.errors())
        raise ValueError(
            f"--cron {cron!r} --timezone {timezone!r}: not a schedule that can be read: {wrong}; for Mondays at three "
            "in Berlin: --cron '0 3 * * 1' --timezone Europe/Berlin"
        ) from error

    return Cron(cron, timezone=timezone)


def serve(made: Sequence[Any]) -> None:
    """Run what is asked for or due, one at a time, until a signal comes; schedules stay on for the next start."""
    from prefect import serve as serve_deployments

    serve_deployments(*made, limit=1, pause_on_shutdown=False, print_starting_message=False)
