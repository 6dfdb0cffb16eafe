"""`remine plan`: what a run would do, before it does it."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from flows.cli.options import HERE, Changes, Device, Home, Precision, RecipeFile, Threads
from flows.cli.run import default_recipe
from flows.cli.terminal import plain, print_table, quieten_logs, say

if TYPE_CHECKING:
    from tasks.plan.line import Line, Pace, Plan

BUSY = 0.7  # load average from which on others slow a measurement down
LOCK_SECONDS = 20.0  # a plan is asked for by somebody who waits
COLUMNS = ("step", "round", "what", "amount", "new", "reused", "time, about", "disk, about")


def plan(
    recipe: RecipeFile = None,
    settings: Changes = None,
    home: Home = HERE,
    device: Device = "auto",
    threads: Threads = 0,
    precision: Precision = "auto",
    format: Annotated[
        Literal["table", "json"], typer.Option("--format", help="table for people, json for programs.")
    ] = "table",
) -> None:
    """Say what `remine run` would do, how long it would take and how much disk, without doing or writing any of it.

    Reads the data, finds what is there already, and measures this machine for about ten seconds.

    **Example:** `remine plan recipe.toml --set rounds=1`
    """
    path = recipe or default_recipe()
    from flows.recipe import load_recipe
    from tasks.where import Where

    loaded = load_recipe(path, settings or [])
    where = Where(home=home.resolve(), device=device, threads=threads, precision=precision, lock_seconds=LOCK_SECONDS)
    from flows.plan import plan_recipe

    quieten_logs("--debug" in sys.argv)
    found = plan_recipe(loaded, where, say)
    if format == "json":
        typer.echo(json.dumps(as_json(found), indent=1, ensure_ascii=False))
    else:
        show(found)


def as_json(found: "Plan") -> dict[str, object]:
    """A plan with its totals."""
    totals = {
        "seconds": found.seconds if found.pace else 0.0,
        "bytes": found.bytes,
        "pairs": sum(line.pairs for line in found.lines),
        "steps_to_do": len(found.todo),
    }
    return {**found.model_dump(mode="json"), "totals": totals}


def show(found: "Plan") -> None:
    """Print a plan for people."""
    print_table(COLUMNS, [row(line) for line in found.lines])
    for sentence in sentences(found):
        typer.echo(plain(sentence))


def row(line: "Line") -> list[str]:
    """One line of the table; an assumed number says so."""
    beginning = [line.step, str(line.round), line.what]
    if line.done:
        return [*beginning, "made above" if line.above else "there already", "", "", "", ""]
    mark = " (assumed)" if line.assumed else ""
    pairs = line.pairs + line.reused
    split = [f"{line.pairs:,}{mark}", f"{line.reused:,}{mark}"] if pairs else ["", ""]
    return [
        *beginning,
        amount(line, mark),
        *split,
        duration(line.seconds or 0.0),
        size(disk(line)) if disk(line) else "",
    ]


def amount(line: "Line", mark: str) -> str:
    """What a line counts, in words."""
    counts = {
        "passages": line.passages,
        "queries": line.queries,
        "pairs": line.pairs + line.reused,
        "steps": line.steps,
    }
    steps_mark = mark if line.steps else ""
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) + steps_mark


def sentences(found: "Plan") -> list[str]:
    """The totals, and what they rest on."""
    if not found.todo or found.pace is None:
        return ["Nothing to do: everything that this recipe makes is there already."]
    there = len(found.lines) - len(found.todo)
    pairs = sum(line.pairs for line in found.lines)
    assumed = list(dict.fromkeys([*(each for line in found.todo for each in line.assumed), *found.assumed]))
    return [
        f"In all about {duration(found.seconds)} and {size(found.bytes)}; {pairs:,} pairs to score; "
        f"{there} of {len(found.lines)} lines are there already or made by an earlier line.",
        *([f"While a model trains, its state takes {size(found.passing_bytes)} more."] if found.passing_bytes else []),
        *measured(found.pace),
        *(f"Assumed: {each}." for each in assumed),
    ]


def measured(pace: "Pace") -> list[str]:
    """What the times rest on."""
    speeds = [f"{pace.encoded_tokens:,.0f} tokens/s encoded"] if pace.encoded_tokens else []
    if pace.scored_tokens:
        speeds.append(f"{pace.scored_tokens:,.0f} tokens/s scored (by {pace.scored_by})")
    speeds += [f"{1000 * each:,.0f} ms a {unit}" for unit, each in pace.seconds.items() if unit.endswith(" step")]
    where = f"{pace.device}, {pace.precision}, {pace.threads} threads"
    told = [f"Measured here in {pace.took:.0f} s ({where}){': ' if speeds else ''}{', '.join(speeds)}."]
    if pace.busy > BUSY:
        told.append(f"Other work kept the machine busy (load {pace.busy:.1f}), so a run alone on it will be quicker.")
    return told


def disk(line: "Line") -> int:
    """Bytes of a line."""
    return line.artifact_bytes + line.warehouse_bytes


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def size(count: int) -> str:
    """Bytes as a person says them."""
    for limit, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= limit:
            return f"{count / limit:,.1f} {unit}"
    return f"{count} B"
