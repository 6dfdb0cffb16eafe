"""The plots of a report: training, judgements, systems."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tasks.diagnose.findings import ANISOTROPIC
from tasks.report.svg import Plot

COSINE = "random-pair cosine"

Chart = tuple[str, str, list[tuple[str, str]]]  # caption, drawing, legend as (colour, name)


def training_charts(course: pl.DataFrame, levels: Mapping[str, float], measure: str) -> list[Chart]:
    """Per training two plots: the dev measure with the lines of chance and base, and beside it the loss.

    Args:
        course: `round, part, artifact_id, planned, step, loss, measure`.
        levels: Dev values of systems to draw as lines.
        measure: Name of the measure.
    """
    charts: list[Chart] = []
    for name, rows in trainings(course):
        steps = (0.0, float(rows["step"].cast(pl.Float64).max() or 1.0))  # type: ignore[arg-type]
        measured, losses = (_points(rows, column) for column in ("measure", "loss"))
        if measured:
            last = measured[-1][1]
            known = "; ".join(f"{system} {value:.3f}" for system, value in levels.items())
            alt = f"{measure} on dev during {name}: from {measured[0][1]:.3f} to {last:.3f}. {known}."
            plot = Plot(f"{name}: {measure} on dev", alt, steps, (0.0, 1.0), ("steps", measure))
            for system, value in levels.items():
                # A curve that ends above a line would strike its name through; at the axis there is no room below.
                plot.level(value, f"{system} {value:.3f}", below=0.1 < value <= last)
            plot.line(measured, "c1", dots=True)
            charts.append((f"{name}: {measure} on dev", plot.markup(), []))
        if losses:
            alt = f"Loss during {name}: from {losses[0][1]:.3f} to {losses[-1][1]:.3f}."
            plot = Plot(f"{name}: loss", alt, steps, (0.0, 1.05 * max(y for _, y in losses)), ("steps", "loss"))
            plot.line(losses, "c2")
            charts.append((f"{name}: loss", plot.markup(), []))
    return charts


def trainings(course: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Each training by the system that came out of it, in the order of the loop."""
    found: list[tuple[str, pl.DataFrame]] = []
    for (number, part, _), rows in course.group_by("round", "part", "artifact_id", maintain_order=True):
        warms = sum(name.startswith("warm") for name, _ in found)
        name = f"round-{number}" if part == "train" else ("warm", "warm-long")[min(warms, 1)]
        found.append((name, rows))
    return found


def judgement_charts(spread: pl.DataFrame, limits: Mapping[str, float]) -> list[Chart]:
    """One histogram per round: the share of labelled positives and of candidates at each judgement.

    Args:
        spread: `round, start, calibrated, positives, approved, kept` in steps of one half.
        limits: Thresholds to draw, in log-odds.
    """
    charts: list[Chart] = []
    legend = [("c3", "labelled positives"), ("c1", "kept candidates"), ("c2", "approved candidates")]
    for (number,), rows in spread.group_by("round", maintain_order=True):
        positives, candidates = int(rows["positives"].sum()), int((rows["kept"] + rows["approved"]).sum())
        approved = int(rows["approved"].sum())
        scale = "log-odds of relevance" if rows["calibrated"].all() else "judgement (logits)"
        alt = (
            f"Round {number}: {positives:,} labelled positives and {candidates:,} candidates by the teacher's "
            f"{scale}; {approved:,} candidates are approved. {_listed(limits)}"
        )
        starts = rows["start"].to_list()
        tallest = max(_shares(rows, "positives", positives) + _shares(rows, "kept", candidates) + [0.01])
        span = (min([*starts, *limits.values()]), max([*starts, *limits.values()]) + 0.5)
        top = (102 + 8 * len(limits)) * tallest  # above the bars stand the names of the limits, one below the other
        plot = Plot(f"Round {number}: judgements", alt, span, (0.0, top), (scale, "% of each kind"))
        _draw_bars(plot, rows, positives, candidates)
        for name, value in limits.items():
            plot.limit(value, name)
        charts.append((f"Round {number}: what the teacher says", plot.markup(), legend))
    return charts


def margin_charts(diagnosed: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """One histogram per student: how far its negatives stay below their positive.

    Args:
        diagnosed: Facts of diagnoses: system, and margins with edges and shares.
    """
    charts: list[Chart] = []
    for facts in diagnosed:
        margins = facts.get("margins")
        if not margins:
            continue
        edges, shares = margins["edges"], margins["shares"]
        system = facts["system"]
        negative = sum(share for low, share in zip(edges, shares, strict=False) if low < 0)
        alt = (
            f"Margins of {system}: similarity of the positive minus that of a negative, from {edges[0]:.2f} to "
            f"{edges[-1]:.2f}; about {negative:.0%} of the negatives are above their positive."
        )
        span = (min(edges[0], 0.0), max(edges[-1], 0.0))
        plot = Plot(f"{system}: margins", alt, span, (0.0, 120 * max(shares)), ("margin", "% of negatives"))
        for low, high, share in zip(edges, edges[1:], shares, strict=False):
            plot.bar((low, high), (0.0, 100 * share), "c1")
        plot.limit(0.0, "as similar as the positive")
        charts.append((f"{system}: how far negatives stay below their positive", plot.markup(), []))
    return charts


def system_chart(rows: Sequence[tuple[str, float, float, float]], measure: str) -> Chart:
    """Every system's mean with its 95 % interval, one above the other.

    Args:
        rows: Name, mean, low, high.
        measure: What was measured, and on which split.
    """
    alt = f"{measure}: " + "; ".join(f"{name} {mean:.3f} ({low:.3f} to {high:.3f})" for name, mean, low, high in rows)
    plot = Plot(measure, f"{alt}.", (0.0, 1.0), (0.0, float(len(rows))), (measure, ""))
    for y, (name, mean, low, high) in _draw_ranges(plot, rows):
        is_left = mean > 0.5
        plot.text(low if is_left else high, y, f"{name} {mean:.3f}", "right" if is_left else "left")
    return f"{measure} with 95 % intervals over queries", plot.markup(), []


def cosine_charts(noted: pl.DataFrame) -> list[Chart]:
    """How alike unrelated passages are to each student that was diagnosed; nothing where none was.

    Args:
        noted: `system, name, value, note`.
    """
    parts = [COSINE, f"{COSINE}, 5th percentile", f"{COSINE}, 95th percentile"]
    found: dict[str, dict[str, float]] = {}
    for system, name, value, _ in noted.iter_rows():
        if name in parts:
            found.setdefault(system, {})[name] = value
    rows = [
        (system, values[parts[0]], values[parts[1]], values[parts[2]])
        for system, values in found.items()
        if len(values) == 3
    ]
    if not rows:
        return []
    told = "; ".join(f"{system} {mean:.3f} ({low:.3f} to {high:.3f})" for system, mean, low, high in rows)
    span = (min(0.0, *(low for _, _, low, _ in rows)), 1.0)
    alt = f"Cosine of unrelated passages, mean and middle 90 %: {told}. From {ANISOTROPIC} on the space is anisotropic."
    plot = Plot("random-pair cosine", alt, span, (0.0, len(rows) + 0.6), ("cosine of unrelated passages", ""))
    for y, (name, mean, _, _) in _draw_ranges(plot, rows):
        plot.text(1.0, y + 0.3, f"{name} {mean:.3f}", "right")  # beside its line, the limit would strike it through
    plot.limit(ANISOTROPIC, "anisotropic from here on")
    return [("Cosine of unrelated passages, mean and middle 90 %", plot.markup(), [])]


def _draw_ranges(
    plot: Plot, rows: Sequence[tuple[str, float, float, float]]
) -> list[tuple[float, tuple[str, float, float, float]]]:
    """A dot on a line from low to high for each row of name, middle, low and high; returns rows with their height."""
    placed = [(number + 0.35, row) for number, row in enumerate(reversed(rows))]
    for y, (_, mean, low, high) in placed:
        plot.line([(low, y), (high, y)], "c1")
        plot.line([(mean, y)], "c1", dots=True)
    return placed


def _draw_bars(plot: Plot, rows: pl.DataFrame, positives: int, candidates: int) -> None:
    """Positives on the left half of each step; kept and approved candidates, stacked, on its right half."""
    for start, known, approved, kept in rows.select("start", "positives", "approved", "kept").iter_rows():
        share = 100 / max(candidates, 1)
        plot.bar((start, start + 0.25), (0.0, 100 * known / max(positives, 1)), "c3")
        plot.bar((start + 0.25, start + 0.5), (0.0, share * kept), "c1")
        plot.bar((start + 0.25, start + 0.5), (share * kept, share * (kept + approved)), "c2")


def _shares(rows: pl.DataFrame, column: str, total: int) -> list[float]:
    return [count / max(total, 1) for count in rows[column].to_list()]


def _points(rows: pl.DataFrame, column: str) -> list[tuple[float, float]]:
    known = rows.filter(pl.col(column).is_not_null() & pl.col(column).is_finite())
    return [(float(step), float(value)) for step, value in known.select("step", column).iter_rows()]


def _listed(limits: Mapping[str, float]) -> str:
    return "Thresholds: " + "; ".join(f"{name} at {value:.2f}" for name, value in limits.items()) if limits else ""
