"""The report people read: one HTML file that loads nothing from anywhere."""

from pathlib import Path
from typing import Any

from tasks.denoise.settings import READ
from tasks.export.card import public
from tasks.replacing import write_whole
from tasks.report import sections
from tasks.report.charts import cosine_charts, judgement_charts, margin_charts, system_chart, training_charts
from tasks.report.told import Told, told
from tasks.report.toml import as_toml
from tasks.report.verdict import is_trained, verdict
from warehouse import report_rows
from warehouse.connect import Warehouse

MOST_READ = 20
CHANGED = 5
LEVELS = ("chance", "base")


def report_page(warehouse: Warehouse, run: int) -> str:
    """Write the report of a run as one HTML page.

    Everything in it is from the warehouse; every text from the data is escaped.

    Raises:
        LookupError: There is no such run, or nothing to report of it.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("page.html").render(context(warehouse, told(warehouse, run)))


def save_page(page: str, path: Path) -> Path:
    """Write a page to a file, whole or not at all; returns the file."""
    write_whole(path, page.encode("utf-8"))
    return path


def context(warehouse: Warehouse, about: Told) -> dict[str, Any]:
    """What the template shows."""
    means = sections.intervals(about)
    levels = {system: about.means[system, "dev"] for system in LEVELS if (system, "dev") in about.means}
    limits, noted = sections.limits_of(about), report_rows.noted(warehouse, about.run)
    warnings = sections.warnings(about)
    return {
        **_head(about),
        **_changed(warehouse, about),
        "leaderboard": sections.leaderboard_table(about, means),
        "systems": system_chart(means, f"{about.split} {about.measure}"),
        "warnings": warnings,
        "decisions": [sentence for sentence in sections.decisions(about) if sentence not in warnings],
        "training": training_charts(report_rows.course(warehouse, about.run), levels, about.measure),
        "judgements": judgement_charts(report_rows.spread(warehouse, about.run), limits),
        "about_limits": _about_limits(about),
        "diagnosis": sections.diagnosis_table(noted),
        "diagnosed": [*cosine_charts(noted), *margin_charts(about.facts("diagnose"))],
        "to_read": sections.reading(report_rows.to_read(warehouse, about.run, MOST_READ)),
        "seconds": sections.seconds_table(about),
        "pairs": sections.pairs_table(report_rows.cost(warehouse, about.run)),
        "serving": sections.serving(about),
        "recipe": as_toml(public(about.settings)),
        "reproduce": sections.reproduce(about),
    }


def _head(about: Told) -> dict[str, Any]:
    row = about.row
    stopped = row["status"] not in ("completed", "running")
    queries = about.board.filter(about.board["split"] == about.split)["queries"].to_list()[0]
    first, more, remark = verdict(about.figures).partition(". ")
    return {
        "title": f"remine: {row['recipe']}, run {about.run}",
        "chosen": about.winner,
        "verdict": f"{first}." if more else first,
        "remark": remark,
        "origin": f"Run {about.run} of the recipe {row['recipe']} on the corpus {row['corpus']}, "
        f"started {row['started_at']:%Y-%m-%d %H:%M} UTC.",
        "state": f"This run ended early, {row['status']}: {row['error']}. What follows is what there was until then."
        if stopped
        else "",
        "about_board": f"Means over {queries} {about.split} queries; intervals by bootstrap over queries; “against "
        "base” is paired, query by query. Dev chose checkpoints and winners, so figures on dev are optimistic.",
    }


def _changed(warehouse: Warehouse, about: Told) -> dict[str, Any]:
    """What the winner won and lost against the base; where the base won, the best other student stands in."""
    after = about.winner
    if after == "base":
        students = [name for name, split in about.means if split == "dev" and is_trained(name)]
        if not students:
            return {"changed": [], "compared": ""}
        after = max(sorted(students), key=lambda name: about.means[name, "dev"])
    systems = ("base", after)
    rows = report_rows.changed(warehouse, about.run, systems, (about.split, about.measure), CHANGED)
    both = [(outcome, sections.changes(rows, outcome, systems)) for outcome in ("won", "lost")]
    return {"changed": both, "compared": f"base before, {after} after, {about.split} {about.measure}"}


def _about_limits(about: Told) -> str:
    settings = about.settings.get("denoising", {})
    policy = settings.get("policy", "unknown")
    told = {
        "keep": "Every candidate is a negative, wherever it stands.",
        "margin": f"A negative also stays {settings.get('margin', 0.0):g} logits below the weakest positive of its "
        "query, which is another line for every query.",
        "calibrated": f"A candidate is approved where it reaches what {1 - settings.get('quantile', 0.0):.0%} of the "
        "positives do, in logits; that line moves with the teacher.",
        "promote_all": "Candidates to the right of “approve” have joined the positives.",
    }
    approved = (
        "Candidates to the right of “approve” are never contrastive negatives."
        if "approve" in READ.get(policy, ())
        else ""
    )
    sentences = [
        f"Policy {policy}.",
        "Log-odds of 0 are a calibrated probability of one half; the last bar on each side holds everything beyond.",
        told.get(policy, ""),
        approved,
    ]
    return " ".join(filter(None, sentences))
