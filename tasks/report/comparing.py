"""Two runs beside each other: what was set otherwise, what came out, which queries changed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from tasks.evaluate.paired import compare
from tasks.report.told import Told, told
from warehouse import report_rows
from warehouse.connect import Warehouse


@dataclass(frozen=True)
class Compared:
    """How the second run differs from the first.

    Attributes:
        systems: What each run chose.
        stopped: Why a run made no round; empty where it made one.
        split: Where both were measured.
        same_data: Both had the same passages, queries and labels; else data that grew may look like a loss.
        settings: `setting, first, second` of what differs.
        measures: `measure, first, second, difference, low, high, p, queries` of the chosen systems.
        queries: `query, first, second, difference` by the first run's deciding measure, most changed first.
    """

    systems: tuple[str, str]
    stopped: tuple[str, str]
    split: str
    same_data: bool
    settings: pl.DataFrame
    measures: pl.DataFrame
    queries: pl.DataFrame


def compare_runs(warehouse: Warehouse, first: int, second: int, most: int = 10) -> Compared:
    """Compare what two runs chose, query by query.

    Args:
        warehouse: Where both are.
        first: Number of a run.
        second: Number of the other one.
        most: How many changed queries to name.

    Raises:
        LookupError: One of them is not there, or has nothing to report.
        ValueError: They were measured on different queries.
    """
    both = (told(warehouse, first), told(warehouse, second))
    split = "test" if all(each.split == "test" for each in both) else "dev"
    known = [set(each.board.filter(pl.col("system") == each.winner)["measure"]) for each in both]
    rows = [_measured(warehouse, both, split, measure) for measure in sorted(known[0] & known[1])]
    names = ["measure", "first", "second", "difference", "low", "high", "p", "queries"]
    return Compared(
        systems=(both[0].winner, both[1].winner),
        stopped=(both[0].figures.stopped, both[1].figures.stopped),
        split=split,
        same_data=_data(both[0]) == _data(both[1]),
        settings=differing(both[0].settings, both[1].settings),
        measures=pl.DataFrame(rows, schema=names, orient="row"),
        queries=_changed(warehouse, both, split, most),
    )


def _data(about: Told) -> list[str]:
    """Fingerprints of the data of a run."""
    return about.steps.filter(pl.col("step") == "ingest")["artifact"].unique().sort().to_list()


def differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> pl.DataFrame:
    """Settings that differ, by dotted name: `setting, first, second` as JSON; null where one has no such setting."""
    flat = [dict(_flat(settings)) for settings in (first, second)]
    names = dict.fromkeys([*flat[0], *flat[1]])
    rows = [(name, flat[0].get(name), flat[1].get(name)) for name in names if flat[0].get(name) != flat[1].get(name)]
    return pl.DataFrame(rows, schema=dict.fromkeys(("setting", "first", "second"), pl.String), orient="row")


def _flat(settings: Mapping[str, Any], before: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in settings.items():
        inner = isinstance(value, Mapping) and value
        found += _flat(value, f"{before}{name}.") if inner else [(f"{before}{name}", json.dumps(value))]
    return found


def _measured(warehouse: Warehouse, both: tuple[Told, Told], split: str, measure: str) -> tuple[Any, ...]:
    old, new = (_values(warehouse, each, measure) for each in both)
    found = compare(old, new, split, measure)
    means = [float(frame.filter(pl.col("split") == split)["value"].to_numpy().mean()) for frame in (old, new)]
    return (measure, *means, found.difference, found.low, found.high, found.p, found.queries)


def _values(warehouse: Warehouse, about: Told, measure: str) -> pl.DataFrame:
    return report_rows.values(warehouse, about.run, measure).filter(pl.col("system") == about.winner)


def _changed(warehouse: Warehouse, both: tuple[Told, Told], split: str, most: int) -> pl.DataFrame:
    old, new = (
        _values(warehouse, each, both[0].measure).filter(pl.col("split") == split).select("query_hash", "value")
        for each in both
    )
    pairs = old.rename({"value": "first"}).join(new.rename({"value": "second"}), on="query_hash")
    pairs = pairs.with_columns(difference=pl.col("second") - pl.col("first")).filter(pl.col("difference") != 0)
    top = pairs.sort(pl.col("difference").abs(), "query_hash", descending=[True, False]).head(most)
    texts = report_rows.query_texts(warehouse, top["query_hash"].to_list())
    named = top.join(texts, on="query_hash", how="left", maintain_order="left")
    return named.select("query", "first", "second", "difference")
