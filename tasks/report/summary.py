"""The summary of a run: verdict, leaderboard, rounds, seconds, notes, and where to look next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from tasks.refs import Artifact, Run
from tasks.report.people import people_notes
from tasks.report.tables import Table, leaderboard, markdown, plain
from tasks.report.verdict import Figures, stopped_by, verdict
from tasks.teach.gate import told


@dataclass(frozen=True)
class Placed:
    """An artifact's place in a run.

    Attributes:
        number: The round; 0 is before the rounds.
        artifact: What was made or found in it.
        made: This run made it; an earlier one did otherwise.
    """

    number: int
    artifact: Artifact
    made: bool = True

    @property
    def seconds(self) -> float:
        """Seconds that it took in this run."""
        return float(self.artifact.about()["seconds"]) if self.made else 0.0


@dataclass(frozen=True)
class Summary:
    """What came out of a run.

    Attributes:
        verdict: The first line.
        tables: Leaderboard, pairs per round, seconds per step.
        notes: Warnings and decisions, a sentence each.
        hints: Commands that show more, and what they show.
    """

    verdict: str
    tables: list[Table]
    notes: list[str]
    hints: list[tuple[str, str]]

    def with_page(self, page: Path) -> "Summary":
        """The summary that also says where the report is."""
        return replace(self, hints=[(str(page), "the report, to open in a browser"), *self.hints])


def summarise(
    run: Run, placed: Sequence[Placed], winner: str, measure: str = "nDCG@10", people: pl.DataFrame | None = None
) -> Summary:
    """Sum up a run from its artifacts.

    Args:
        run: The run.
        placed: The run's artifacts with their rounds, in the order they were recorded.
        winner: The system that stands at the end.
        measure: The measure that decided.
        people: Rows of the view `agreement` of this run, by round; None or empty where nobody reviewed anything.

    Raises:
        ValueError: The winner or the base was never measured in this run.
    """
    metrics = read_tables(placed, "metrics.parquet")
    means = {
        (system, split): value
        for system, split, value in metrics.filter(pl.col("measure") == measure)
        .select("system", "split", "value")
        .iter_rows()
    }
    for system in ("base", winner):
        if (system, "dev") not in means:
            raise ValueError(f"{system} was not measured by {measure} on dev in this run; there is nothing to report")
    gates = [each.artifact.facts for each in _at(placed, None, "gate")]
    figures = Figures(winner, measure, means, read_tables(placed, "query_metrics.parquet"), stopped_by(gates))
    tables = [leaderboard(metrics), rounds_table(placed), seconds_table(placed)]
    hints = hints_of(run, rounds=any(each.number for each in placed))
    return Summary(verdict(figures), tables, [*notes_of(placed), *people_notes(people)], hints)


def read_tables(placed: Sequence[Placed], name: str) -> pl.DataFrame:
    """Put the same table of all evaluated systems together."""
    frames = [pl.read_parquet(artifact.file(name)) for artifact in measured(placed)]
    return pl.concat(frames)


def measured(placed: Sequence[Placed]) -> list[Artifact]:
    """Every evaluation once, in order."""
    steps = ("baseline", "evaluate")
    found = {each.artifact.fingerprint: each.artifact for each in placed if each.artifact.step in steps}
    return [artifact for artifact in found.values() if (artifact.path / "metrics.parquet").exists()]


def rounds_table(placed: Sequence[Placed]) -> Table:
    """Pairs scored and reused in this run, false negatives and truncation, round by round."""
    rows = []
    for number in _numbers(placed):
        scored, judged, encoded = (_at(placed, number, step) for step in ("score", "denoise", "encode"))
        if not scored and not judged:
            continue
        facts = [each.artifact.facts for each in scored]
        pairs = sum(int(each["pairs"]) for each in facts)
        new = sum(int(fact["new"]) for fact, each in zip(facts, scored, strict=True) if each.made)
        cut = sum(int(each["truncated"]) for each in facts) / pairs if pairs else None
        passages_cut = max((float(each.artifact.facts["truncated_share"]) for each in encoded), default=None)
        false = sum(int(each.artifact.facts["false_negatives"]) for each in judged) if judged else None
        cells = [_count(pairs), _count(new), _count(pairs - new), _count(false), _share(cut), _share(passages_cut)]
        rows.append([_round_name(number), *cells])
    head = ["round", "pairs", "scored", "reused", "false negatives", "pairs truncated", "passages truncated"]
    return Table("Pairs judged by the teacher", head, rows)


def seconds_table(placed: Sequence[Placed]) -> Table:
    """Seconds of each step in this run; 0 where it found what an earlier run had made."""
    numbers = _numbers(placed)
    spent: dict[str, dict[int, float]] = {}
    for each in placed:
        by_round = spent.setdefault(each.artifact.step, {})
        by_round[each.number] = by_round.get(each.number, 0.0) + each.seconds
    rows = [
        [step, *(f"{by[number]:.1f}" if number in by else "–" for number in numbers), f"{sum(by.values()):.1f}"]
        for step, by in spent.items()
    ]
    totals = [sum(by.get(number, 0.0) for by in spent.values()) for number in numbers]
    rows.append(["total", *(f"{total:.1f}" for total in totals), f"{sum(totals):.1f}"])
    return Table("Seconds per step", ["step", *map(_round_name, numbers), "total"], rows)


def notes_of(placed: Sequence[Placed]) -> list[str]:
    """Warnings of ingest, decisions, and trainings that had not come to an end."""
    notes = [note for each in placed for note in _noted(each)]
    promoted = _at(placed, None, "promote")
    if promoted:
        notes.append(about_dev(promoted[-1].artifact.facts))
    return list(dict.fromkeys(notes))


def _noted(each: Placed) -> list[str]:
    """What one artifact has to say."""
    step, facts = each.artifact.step, each.artifact.facts
    name = f"Round {each.number}" if each.number else "Before the rounds"
    warnings = facts.get("warnings", [])
    by_step = {
        "ingest": [f"Data: {warning}" for warning in warnings],
        "baseline": [f"Before tuning: {warning}." for warning in warnings],
        "diagnose": [f"Diagnosis: {warning}" for warning in warnings],
        "gate": [] if facts.get("passed", True) else [f"{name}: {told(facts, each.number)}"],
        "promote": [f"{name}: {facts.get('sentence')}."],
    }
    unfinished = f"{name}, {step}: the best checkpoint is the last one; more steps may give more."
    small = f"{name}, {step}: {few}." if (few := _few_lists(each.artifact)) else ""
    idle = f"{name}, {step}: {left}." if each.number and (left := _left_out(each.artifact)) else ""
    ended = [f"{name}, {step}: {sentence}." for sentence in _ended(each.artifact)]
    told_of = [unfinished if facts.get("unfinished") else "", small, idle]
    return [*by_step.get(step, []), *ended, *filter(None, told_of)]


def _ended(artifact: Artifact) -> list[str]:
    """That a training ended before its last step, or was of no use."""
    if artifact.step not in ("warmup", "train"):
        return []
    facts, said = artifact.facts, []
    asked = int(artifact.about()["settings"].get("steps", 0))
    if facts.get("steps", asked) < asked:
        said.append(f"stopped after {facts['steps']:,} of {asked:,} steps, because patience was at its end")
    if facts.get("best_step") == 0:
        said.append("no checkpoint was better on dev than the student it began with, which is what it gives")
    return said


def _left_out(artifact: Artifact) -> str:
    """How many of the mined queries a round gives up or leaves without candidates, in words; empty where none."""
    facts = artifact.facts
    if artifact.step == "mine" and facts.get("dropped"):
        return (
            f"{facts['dropped']:,} of {facts['queries']:,} queries are not trained on: too few candidates were left of "
            "them, and mining.too_few is 'drop'; what was taken out and why: FROM mining_counts"
        )
    if artifact.step == "denoise" and facts.get("empty_lists"):
        return (
            f"{facts['empty_lists']:,} of {facts['queries']:,} queries have no candidate left in their lists; an "
            "objective that needs one learns nothing from them. Why each was left out: FROM scored_candidates"
        )
    return ""


def _few_lists(artifact: Artifact) -> str:
    """That a student was trained on fewer queries than a batch was to hold, in words; empty where it was not."""
    if artifact.step not in ("warmup", "train"):
        return ""
    settings = artifact.about()["settings"]
    lists, batch = int(artifact.facts["lists"]), int(settings["batch"])
    if lists >= batch:
        return ""
    have = "train query has a list" if lists == 1 else "train queries have lists"
    terms = {each["name"] for each in settings.get("objectives", [{"name": "contrastive"}])}  # a warm-up has no other
    in_batch = settings.get("in_batch", True) and terms & {"contrastive", "triplet"}
    fewer = ", with fewer in-batch negatives than asked for" if in_batch else ""
    return (
        f"only {lists:,} {have}, and a batch was to hold {batch:,}: every step saw all of them{fewer}; mine more "
        "queries, or take a smaller batch"
    )


def about_dev(decision: Mapping[str, Any]) -> str:
    """Who chose on dev and who decided, by the facts of a decision."""
    if decision["halved"]:
        return (
            f"Dev was halved by hash: {decision['queries']} queries decided gate and promotions, and the others chose "
            "checkpoints, blend and calibration; so p-values are of queries that nothing was chosen by."
        )
    return (
        "Dev has fewer than 400 queries, so the same ones chose checkpoints, blend and calibration and decided gate "
        "and promotions: p-values and intervals on dev are optimistic."
    )


def why_chosen(placed: Sequence[Placed], winner: str) -> str:
    """The last decision for a system, in a sentence."""
    facts = [each.artifact.facts for each in _at(placed, None, "promote")]
    told = [fact["sentence"] for fact in facts if fact["winner"] == winner]
    return told[-1] if told else f"{winner} is the only student that was measured"


def hints_of(run: Run, rounds: bool = True) -> list[tuple[str, str]]:
    """Where to look next; what a round finds only where there was one."""
    judged = (
        f'remine sql "SELECT * FROM false_negatives WHERE run = {run.id} LIMIT 20"',
        "unlabelled passages that the teacher approves",
    )
    return [
        ("remine ui", "this run and earlier ones in the browser"),
        *([judged] if rounds else []),
        ('remine search "words of your own"', "what base, student and teacher each find"),
        (f"remine export {run.id} my-student", "the student as a folder of its own"),
    ]


def show(summary: Summary, console: Console) -> None:
    """Print the summary; nothing in it is taken for markup."""
    console.print(Text(summary.verdict, style="bold"))
    for table in summary.tables:
        if not table.rows:
            continue
        shown = RichTable(title=Text(table.title), title_justify="left")
        for number, name in enumerate(table.head):
            shown.add_column(Text(name), justify="right" if number else "left", no_wrap=not number)
        for row in table.rows:
            shown.add_row(*map(Text, row))
        console.print(shown)
    for note in summary.notes:
        console.print(Text(f"• {note}"))
    console.print(Text("Where to look next:"))
    for command, what in summary.hints:
        console.print(Text(f"  {command}", style="cyan"), Text(f" {what}"))


def as_markdown(summary: Summary) -> str:
    """The summary as Markdown; texts from the data stay texts."""
    tables = [f"## {table.title}\n\n{markdown(table)}" for table in summary.tables if table.rows]
    notes = "\n".join(f"- {plain(note)}" for note in summary.notes)
    hints = "\n".join(f"- `{command}`: {what}" for command, what in summary.hints)
    return "\n\n".join([f"**{plain(summary.verdict)}**", *tables, notes, f"Where to look next:\n\n{hints}"]) + "\n"


def _at(placed: Sequence[Placed], number: int | None, step: str) -> list[Placed]:
    """The artifacts of one step, in one round or in all."""
    return [each for each in placed if each.artifact.step == step and number in (None, each.number)]


def _numbers(placed: Sequence[Placed]) -> list[int]:
    return sorted({each.number for each in placed})


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _round_name(number: int) -> str:
    return f"round {number}" if number else "outside rounds"
