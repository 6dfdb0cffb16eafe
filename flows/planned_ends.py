"""The steps that end a run, each asked for the name of what it would make."""

import json
from functools import partial
from pathlib import Path

from flows.planned_steps import Steps
from flows.standing import Measured
from tasks.plan.found import last_made, look, unnamed
from tasks.refs import Run


def plan_export(steps: Steps, best: Measured) -> None:
    """The winner's folder; its card tells the measures of a run, so it is looked for as the last run made it."""
    from tasks.export.exporting import export_student
    from tasks.record import warehouse_of
    from warehouse.lookup import latest_run
    from warehouse.queries import leaderboard

    found = unnamed(steps.root, "export", best.student.fingerprint)
    if best.student.path != Path() and steps.where.warehouse_path.exists():
        warehouse = warehouse_of(steps.where)
        last = latest_run(warehouse, steps.recipe.name)
        if last:
            run = Run(id=last[0], recipe=steps.recipe.name, where=steps.where)
            board = leaderboard(warehouse, run.id)
            settings = json.loads(steps.recipe.model_dump_json())
            found = look(partial(export_student, run, steps.corpus, best.student, settings, board, best.cutoff))
    steps.add(found, 0, "export", best.student.system, steps.amounts.export())


def plan_report(steps: Steps) -> None:
    """The page about the run: that of the last run, where nothing before it is to be done."""
    last = last_made(steps.where, steps.recipe.name, "report") if steps.lines.all_done else None
    steps.add(last or unnamed(steps.root, "report", "page"), 0, "report", "", steps.amounts.export())
