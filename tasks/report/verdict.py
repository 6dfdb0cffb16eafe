"""The verdict in one plain sentence: who is promoted, and what the labels and the teacher each gave."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from tasks.evaluate.paired import Comparison, compare
from tasks.promote.incumbent import INCUMBENT
from tasks.report.tables import place

LABELS_ONLY = ("warm", "warm-long")
REMEDY = "what would help: a ready-made teacher, or more labels"


@dataclass(frozen=True)
class Figures:
    """What a verdict rests on.

    Attributes:
        winner: The system that stands at the end.
        measure: The measure that decided on dev.
        means: (system, split) → mean.
        per_query: `system, split, query_hash, measure, value`.
        stopped: Why no round was made, as `stopped_by` says it; empty where rounds were.
    """

    winner: str
    measure: str
    means: Mapping[tuple[str, str], float]
    per_query: pl.DataFrame
    stopped: str = ""

    @property
    def split(self) -> str:
        """Where results are told: test, or dev where there is no test."""
        return "test" if (self.winner, "test") in self.means else "dev"

    def has(self, system: str) -> bool:
        """The system was measured."""
        return (system, self.split) in self.means

    def value(self, system: str, split: str | None = None) -> float:
        """A system's mean, by default where results are told."""
        return self.means[system, split or self.split]

    def gain(self, system: str, over: str) -> Comparison:
        """A system against another one, query by query, where results are told."""
        first, second = (self.per_query.filter(pl.col("system") == name) for name in (over, system))
        return compare(first, second, self.split, self.measure)


def verdict(figures: Figures) -> str:
    """Say in one line who is promoted and why, and where the teacher added nothing, exactly that."""
    if figures.winner == INCUMBENT:
        return f"{_incumbent_stays(figures)}."
    if figures.winner == "base":
        line, helpless = _nothing_promoted(figures), True
    elif figures.winner in LABELS_ONLY:
        line, helpless = _labels_won(figures)
    else:
        line, helpless = _round_won(figures)
    gate = "" if figures.stopped else _gate(figures)
    line, helpless = (f"{line}; {figures.stopped}", True) if figures.stopped else (line, helpless)
    sentences = [line, *([gate] if gate else [])]
    if gate or helpless:
        sentences[-1] += f"; {REMEDY}"
    return " ".join(f"{sentence}." for sentence in sentences)


def stopped_by(gates: Iterable[Mapping[str, Any]]) -> str:
    """Why no round was made, by what the gates of a run say, the first before round 1; empty where it let rounds be."""
    first = next(iter(gates), None)
    if first is None or first.get("goes_on", True):  # a run of an earlier version failed there, or went on
        return ""
    return (
        f"no round was made: the teacher is not proven to know more than {first['system']} (re-ranking it on dev: "
        f"{signed(first['difference'])}, one-sided p = {first['p']:.3f})"
    )


def is_trained(system: str) -> bool:
    """Whether a system is a student that this run trained, alone and by all of its vectors."""
    return system in LABELS_ONLY or _is_round(system)


def signed(value: float) -> str:
    """A difference with its sign, three decimals."""
    return f"{value:+.3f}".replace("-", "−")


def _nothing_promoted(figures: Figures) -> str:
    others = _best_on_dev(figures, [name for name, _ in figures.means if is_trained(name)])
    best = f", the best student was {others} with {figures.value(others, 'dev'):.3f}" if others else ""
    return (
        f"Nothing is promoted: no student beat the base on dev ({figures.measure} {figures.value('base', 'dev'):.3f}"
        f"{best}); {_result(figures)}"
    )


def _incumbent_stays(figures: Figures) -> str:
    others = _best_on_dev(figures, [name for name, _ in figures.means if _is_round(name)])
    tried = f"the retrained student has {figures.value(others, 'dev'):.3f}, no proven gain" if others else "no other"
    return (
        f"Nothing is promoted: the student in use stays ({figures.measure} on dev "
        f"{figures.value(INCUMBENT, 'dev'):.3f}; {tried}); {_result(figures)}"
    )


def _labels_won(figures: Figures) -> tuple[str, bool]:
    best = _best_on_dev(figures, [name for name, _ in figures.means if _is_round(name)])
    if best is None and figures.stopped:
        return f"Promoted {figures.winner}, trained on the labels alone: {_result(figures, sure=True)}", True
    if best is None:
        leads = f"{figures.winner}, trained on the labels alone, leads: {_result(figures, sure=True)}"
        return f"No round was measured; {leads}", False
    against = f" ({best} {figures.value(best, 'dev'):.3f}, {figures.winner} {figures.value(figures.winner, 'dev'):.3f})"
    return (
        f"Promoted {figures.winner}, trained on the labels alone: {_result(figures, sure=True)}; "
        f"the teacher added nothing: no round beat it on dev{against}"
    ), True


def _round_won(figures: Figures) -> tuple[str, bool]:
    parts = []
    if figures.has("warm"):
        parts.append(f"the labels alone gave {signed(figures.value('warm') - figures.value('base'))} (warm)")
    if figures.has("warm-long"):
        gave = signed(figures.value("warm-long") - figures.value("base"))
        parts.append(f"with equal compute {gave} (warm-long)")
    control = next(name for name in (INCUMBENT, "warm-long", "warm", "base") if figures.has(name))
    gained = figures.gain(figures.winner, control)
    if control == INCUMBENT:
        return f"Promoted {figures.winner}: {_result(figures)}; {_refreshed(gained)}", False
    added, nothing = _added(gained, control)
    told = f": {', '.join(parts)}; {added}" if parts else f"; {added}"
    return f"Promoted {figures.winner}: {_result(figures)}{told}", nothing


def _added(gained: Comparison, control: str) -> tuple[str, bool]:
    """What the teacher added over the control, and whether that is nothing or not shown to be more."""
    interval = f"[95 % interval {signed(gained.low)} … {signed(gained.high)}]"
    if gained.difference <= 0:
        return f"the teacher added nothing over {control} ({signed(gained.difference)} {interval})", True
    told = f"the teacher added {signed(gained.difference)} {interval}"
    if gained.low <= 0:
        return f"{told}, which may be nothing", True
    return told, False


def _refreshed(gained: Comparison) -> str:
    interval = f"[95 % interval {signed(gained.low)} … {signed(gained.high)}]"
    return f"over the student that was in use {signed(gained.difference)} {interval}"


def _gate(figures: Figures) -> str:
    """Say where the teacher knows no better than the student it is to teach."""
    if not {("teacher", "dev"), ("warm", "dev")} <= figures.means.keys():
        return ""
    teacher, warm = figures.value("teacher", "dev"), figures.value("warm", "dev")
    if teacher > warm:
        return ""
    return (
        f"The teacher re-ranking the warm student's candidates is not better than the warm student on dev "
        f"({figures.measure} {teacher:.3f} against {warm:.3f}), and a student inherits no more than its teacher knows"
    )


def _result(figures: Figures, sure: bool = False) -> str:
    """The winner beside the base; `sure`: with the interval of its gain."""
    told = f"{figures.split} {figures.measure} {figures.value(figures.winner):.3f}"
    if figures.winner == "base" or not figures.has("base"):
        return told
    base = figures.value("base")
    gain = signed(figures.value(figures.winner) - base)
    if sure:
        gained = figures.gain(figures.winner, "base")
        gain += f" [95 % interval {signed(gained.low)} … {signed(gained.high)}]"
    return f"{told}, base {base:.3f} ({gain})"


def _best_on_dev(figures: Figures, names: list[str]) -> str | None:
    measured = [name for name in dict.fromkeys(names) if (name, "dev") in figures.means]
    return max(sorted(measured, key=place), key=lambda name: figures.value(name, "dev"), default=None)


def _is_round(name: str) -> bool:
    return name.startswith("round-") and not name.endswith("+teacher") and "@" not in name
