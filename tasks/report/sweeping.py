"""What a sweep came to: one row per variant, one plot over the setting that varies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tasks.record import warehouse_of
from tasks.replacing import write_whole
from tasks.report.svg import Plot
from tasks.report.told import Told, told
from tasks.where import Where
from warehouse import report_rows
from warehouse.lookup import latest_run

COLOURS = ("c1", "c2", "c3", "c4", "c5")
FIXED = ("chance", "bm25", "hybrid", "base")  # what no training setting changes
SEED = "seed"


@dataclass(frozen=True)
class Outcome:
    """What one variant came to.

    Attributes:
        values: Setting → its value, as TOML.
        about: Its run.
        scored: Pairs that it had to score; the others were there.
    """

    values: Mapping[str, str]
    about: Told
    scored: int

    def row(self, measure: str) -> dict[str, object]:
        """Its row of the table: settings, run, chosen system, every system's value, what it cost."""
        split = self.about.split
        board = self.about.board.filter((pl.col("split") == split) & (pl.col("measure") == measure))
        systems: dict[str, object] = dict(board.select("system", "value").iter_rows())
        made = self.about.steps.filter(pl.col("made"))["seconds"].sum()
        head = {**self.values, "run": self.about.run, "split": split, "chosen": self.about.winner}
        return {**head, "value": systems[self.about.winner], **systems, "scored": self.scored, "seconds": made}


def find_outcome(where: Where, name: str, values: Mapping[str, str]) -> Outcome:
    """The outcome of the last completed run of a variant.

    Raises:
        LookupError: There is none.
    """
    warehouse = warehouse_of(where)
    found = latest_run(warehouse, name)
    if found is None:
        raise LookupError(f"{warehouse.path}: no run of {name} has completed")
    cost = report_rows.cost(warehouse, found[0])
    return Outcome(values, told(warehouse, found[0]), int(cost["scored"].sum()))


def table_of(outcomes: Sequence[Outcome], measure: str) -> pl.DataFrame:
    """One row per variant; a system that a variant does not have is null."""
    return pl.concat([pl.DataFrame([outcome.row(measure)]) for outcome in outcomes], how="diagonal_relaxed")


def write_sweep(outcomes: Sequence[Outcome], measure: str, folder: Path) -> None:
    """Write `table.csv`, and `plot.svg` where one setting besides the seed takes several values."""
    folder.mkdir(parents=True, exist_ok=True)
    table = table_of(outcomes, measure)
    write_whole(folder / "table.csv", table.write_csv().encode("utf-8"))
    varied = [name for name in outcomes[0].values if name != SEED and table[name].n_unique() > 1]
    if len(varied) == 1:
        write_whole(folder / "plot.svg", sweep_plot(table, varied[0], measure).encode("utf-8"))


def sweep_plot(table: pl.DataFrame, setting: str, measure: str) -> str:
    """Every trained system's value against a setting, means over seeds, with the base as a line.

    Args:
        table: As `table_of` makes it.
        setting: The column of the setting.
        measure: What was measured.
    """
    values = table[setting].unique(maintain_order=True).to_list()
    numbers = _numbers(values)
    places = numbers or [float(number) for number in range(len(values))]
    at = dict(zip(values, places, strict=True))
    systems = _systems(table)
    means = table.group_by(setting, maintain_order=True).agg(pl.col(systems).mean())
    lines = {
        name: sorted((at[value], mean) for value, mean in means.select(setting, name).iter_rows() if mean is not None)
        for name in systems
    }
    lowest, highest = (pick(mean for line in lines.values() for _, mean in line) for pick in (min, max))
    split = table["split"][0]
    alt = f"{measure} on {split} against {setting}: " + "; ".join(
        f"{name} " + ", ".join(f"{mean:.3f}" for _, mean in line) for name, line in lines.items()
    )
    room = 0.1 * (highest - lowest) or 0.05
    spread = bool(numbers) and min(places) > 0 and max(places) >= 8 * min(places)
    spans = (min(places), max(places)), (lowest - room, highest + room)
    names = (setting, f"{split} {measure}")
    plot = Plot(f"{measure} against {setting}", f"{alt}.", *spans, names, places if spread else ())
    if not spread:
        plot.mark(places, [value.strip('"') for value in values])
    for number, (name, line) in enumerate(lines.items()):
        plot.line(line, COLOURS[number % len(COLOURS)], dots=True, name=name)
    return plot.legend().markup()


def _systems(table: pl.DataFrame) -> list[str]:
    """The base, and what was trained: systems that every table has, in the order of the loop."""
    after = table.columns[table.columns.index("value") + 1 : table.columns.index("scored")]
    trained = [name for name in after if name not in FIXED and "+" not in name and "@" not in name]
    return ["value", *(["base"] if "base" in after else []), *trained]


def _numbers(values: Sequence[str]) -> list[float]:
    try:
        return [float(value) for value in values]
    except ValueError:
        return []
