"""The step `report`."""

import logging
import re
from typing import TYPE_CHECKING

from tasks.promote.deciding import Contender
from tasks.promote.incumbent import INCUMBENT, name_incumbent
from tasks.refs import Artifact, Run
from tasks.step import step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasks.report.summary import Summary
    from tasks.report.tables import Table

log = logging.getLogger("remine.report")


@step("report")
def report(run: Run, winner: Contender, exported: Artifact, measure: str) -> "Summary":
    """Name the incumbent, write the report, print the summary and leave it as artifacts of the Prefect run."""
    from rich.console import Console

    from tasks.record import record, warehouse_of
    from tasks.report.page import MOST_READ
    from tasks.report.picture import flow_picture
    from tasks.report.placed import compared_at, placed_artifacts
    from tasks.report.shown import READ, to_read, verdicts_table
    from tasks.report.summary import as_markdown, show, summarise, why_chosen
    from tasks.report.writing import FILE, write_report
    from warehouse import report_rows
    from warehouse.reviews import agreement

    placed = placed_artifacts(run)
    if winner[0].system != INCUMBENT:  # who was in use before a refresh, and stays, keeps the name of its own run
        why, when = why_chosen(placed, winner[0].system), compared_at(placed)
        name_incumbent(run, winner[0], winner[1], why=why, compared_at=when)
    people = agreement(warehouse_of(run.where), run.id)
    written = write_report(run, placed)
    record(run, written, 0)
    summary = summarise(run, placed, winner[0].system, measure, people).with_page(written.file(FILE))
    show(summary, Console())
    log.info("%s The student is in %s.", summary.verdict, exported.path)
    texts = {
        "summary": f"{as_markdown(summary)}\n{flow_picture(placed)}",
        READ: to_read(report_rows.to_read(warehouse_of(run.where), run.id, MOST_READ)),
    }
    leave(run.recipe, summary.verdict, texts, [*summary.tables, verdicts_table(placed)])
    return summary


def leave(recipe: str, verdict: str, texts: "Mapping[str, str]", tables: "Sequence[Table]") -> None:
    """Put texts and tables beside the Prefect task run; nothing outside of one, and nothing that is empty.

    A server that is away costs a warning, not the run.
    """
    from prefect.artifacts import create_markdown_artifact, create_table_artifact
    from prefect.context import TaskRunContext

    from tasks.progress import ask_once
    from tasks.report.tables import as_records

    def put() -> None:
        for title, text in texts.items():
            if text:
                about = verdict if title == "summary" else title
                create_markdown_artifact(text, key=_key(f"{recipe} {title}"), description=about)
        for table in tables:
            if table.rows:
                key = _key(f"{recipe} {table.title}")
                create_table_artifact(as_records(table), key=key, description=table.title)

    if TaskRunContext.get() is None:
        return
    try:
        ask_once(put)
    except Exception as error:
        log.warning("the summary could not be left on the Prefect server: %s", error)


def _key(title: str) -> str:
    """A title as the key of a Prefect artifact: lower-case words with dashes; equal keys are one time line."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))
