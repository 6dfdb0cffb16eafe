"""What a report is written from: a run as the warehouse knows it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from tasks.report.verdict import Figures, stopped_by
from warehouse import report_rows
from warehouse.connect import Warehouse


@dataclass(frozen=True)
class Told:
    """A run as the warehouse knows it; nothing else is read.

    Attributes:
        run: Its number.
        row: Its row of `runs`.
        settings: The recipe.
        steps: Its artifacts: round, step, made, seconds, took, facts, settings.
        board: Every system's means.
        values: Every system's values per query by the deciding measure.
    """

    run: int
    row: Mapping[str, Any]
    settings: Mapping[str, Any]
    steps: pl.DataFrame
    board: pl.DataFrame
    values: pl.DataFrame

    @property
    def measure(self) -> str:
        """The measure that decided."""
        return str(self.settings["evaluation"]["measure"])

    @cached_property
    def means(self) -> dict[tuple[str, str], float]:
        """(system, split) → mean by the deciding measure."""
        rows = self.board.filter(pl.col("measure") == self.measure)
        return {(system, split): value for system, split, value in rows.select("system", "split", "value").iter_rows()}

    @cached_property
    def winner(self) -> str:
        """The system that stands at the end: what was exported, else who won the last decision, else the base."""
        for step, fact in (("export", "system"), ("promote", "winner")):
            found = self.facts(step)
            if found:
                return str(found[-1][fact])
        return "base"

    @property
    def figures(self) -> Figures:
        """What the verdict rests on."""
        return Figures(self.winner, self.measure, self.means, self.values, stopped_by(self.facts("gate")))

    @property
    def split(self) -> str:
        """Where results are told: test, or dev where there is no test."""
        return self.figures.split

    def facts(self, step: str) -> list[dict[str, Any]]:
        """What the artifacts of a step say, in the order they were used in."""
        return [json.loads(text) for text in self.steps.filter(pl.col("step") == step)["facts"]]


def told(warehouse: Warehouse, run: int) -> Told:
    """Read a run.

    Raises:
        LookupError: There is no such run, it taught no student, or it ended before the base was measured.
    """
    row = report_rows.run_row(warehouse, run)
    settings = json.loads(row["settings"])
    if row["flow"] not in ("distill", "refresh"):
        raise LookupError(
            f"{warehouse.path}: run {run} is of the flow {row['flow']!r}; only 'distill' and 'refresh' teach students"
        )
    measure = settings.get("evaluation", {}).get("measure", "nDCG@10")
    settings.setdefault("evaluation", {"measure": measure})
    values = report_rows.values(warehouse, run, measure)
    found = Told(run, row, settings, report_rows.steps(warehouse, run), report_rows.board(warehouse, run), values)
    if ("base", "dev") not in found.means:
        raise LookupError(
            f"{warehouse.path}: run {run} ({row['status']}) has not measured the base; there is nothing to report"
        )
    return found
