"""Tables for people: the leaderboard's shape, and text that no reader of Markdown or HTML takes for markup."""

import re
from dataclasses import dataclass

import polars as pl

ORDER = ("chance", "bm25", "hybrid", "base", "warm", "warm-long", "teacher", "incumbent")
SHOWN = ("nDCG@10", "RR@10", "R@10", "R@100")
SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$])")


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column is left-aligned, the others are numbers."""

    title: str
    head: list[str]
    rows: list[list[str]]


def leaderboard(metrics: pl.DataFrame, title: str = "Leaderboard") -> Table:
    """One row per system, the systems in the order of the loop; test before dev.

    Args:
        metrics: `system, split, measure, value` of every system.
        title: Heading.
    """
    splits = [split for split in ("test", "dev") if (metrics["split"] == split).any()]
    values = {row[:3]: row[3] for row in metrics.select("system", "split", "measure", "value").iter_rows()}
    # Dev decided, test tells: one column of dev is enough, and the table fits a terminal of 80 columns.
    columns = [(split, measure) for split in splits for measure in (SHOWN if split == splits[0] else SHOWN[:1])]
    systems = sorted(metrics["system"].unique().to_list(), key=place)
    rows = [[system, *(_number(values.get((system, *column))) for column in columns)] for system in systems]
    return Table(title, ["system", *(f"{split} {measure}" for split, measure in columns)], rows)


def place(system: str) -> tuple[int, int, str]:
    """Where a system stands in a table: chance first, then baselines, then round by round."""
    whole = system.partition("@")[0]
    if whole in ORDER:
        return ORDER.index(whole), 0, system
    number = re.match(r"round-(\d+)", system)
    return len(ORDER), int(number[1]) if number else 1_000_000, system


def markdown(table: Table, others: str = "---:") -> str:
    """Write a table as Markdown; what its cells hold stays text.

    Args:
        table: The table.
        others: How columns after the first are aligned: `---:` as numbers, `:---` as text.
    """
    rule = [":---", *[others] * (len(table.head) - 1)]
    lines = [[plain(cell) for cell in table.head], rule, *([plain(cell) for cell in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def plain(text: str) -> str:
    """Escape a text for one line or one cell of Markdown that may be shown as HTML."""
    line = " ".join(text.split())
    marked = SPECIAL.sub(r"\\\1", line.replace("&", "&amp;"))
    return marked.replace("<", "&lt;").replace(">", "&gt;")


def as_records(table: Table) -> list[dict[str, str]]:
    """The rows as dictionaries, for a table in the Prefect UI."""
    return [dict(zip(table.head, row, strict=True)) for row in table.rows]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
