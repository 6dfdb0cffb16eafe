"""The tables and sentences of a report."""

import json
import math
from typing import Any

import polars as pl

from tasks.denoise.settings import PROBABILITIES, READ
from tasks.evaluate.paired import mean_interval
from tasks.report.summary import about_dev
from tasks.report.tables import SHOWN, Table, place
from tasks.report.told import Told
from tasks.report.verdict import Figures, signed, stopped_by
from tasks.teach import gate

MOST = 0.8  # share of the gain from which on a system counts as bringing most of it


def intervals(told: Told) -> list[tuple[str, float, float, float]]:
    """Every system's mean where results are told, with its bootstrap 95 % interval: name, mean, low, high."""
    rows = told.values.filter(pl.col("split") == told.split)
    found = []
    for (system,), values in rows.group_by("system", maintain_order=True):
        array = values["value"].to_numpy()
        found.append((str(system), float(array.mean()), *mean_interval(array)))
    return sorted(found, key=lambda row: place(row[0]))


def leaderboard_table(told: Told, means: list[tuple[str, float, float, float]]) -> Table:
    """One row per system: the deciding measure with its interval and its gain over the base, then other measures."""
    values = {row[:3]: row[3] for row in told.board.select("system", "split", "measure", "value").iter_rows()}
    others = [measure for measure in SHOWN if measure != told.measure]
    measured = {split for _, split in told.means}
    beside = [split for split in ("dev", "guard") if split in measured and split != told.split]
    rows = []
    for system, mean, low, high in means:
        gain = "–"
        if system not in ("base", "chance"):
            against = told.figures.gain(system, "base")
            gain = f"{signed(against.difference)} [{signed(against.low)} … {signed(against.high)}]"
        cells = [_number(values.get((system, told.split, measure))) for measure in others]
        dev = [_number(told.means.get((system, split))) for split in beside]
        rows.append([system, _number(mean), f"{low:.3f} … {high:.3f}", gain, *cells, *dev])
    head = ["system", f"{told.split} {told.measure}", "95 % interval", "against base", *others]
    return Table("Leaderboard", [*head, *(f"{split} {told.measure}" for split in beside)], rows)


def limits_of(told: Told) -> dict[str, float]:
    """The thresholds of denoising in log-odds, by name; none where the policy has none."""
    settings = told.settings.get("denoising", {})
    names = [name for name in READ.get(settings.get("policy", ""), ()) if name in PROBABILITIES]
    return {f"{name} {settings[name]:g}": math.log(settings[name] / (1 - settings[name])) for name in names}


def diagnosis_table(noted: pl.DataFrame) -> Table:
    """One row per figure, one column per student, and what a bad value looks like.

    Args:
        noted: `system, name, value, note`, in order.
    """
    systems = noted["system"].unique(maintain_order=True).to_list()
    values = {(name, system): value for system, name, value, _ in noted.iter_rows()}
    notes = {name: note for _, name, _, note in noted.iter_rows()}
    rows = [[name, *(_figure(values.get((name, system))) for system in systems), note] for name, note in notes.items()]
    return Table("Diagnosis", ["figure", *systems, "what a bad value looks like"], rows)


def seconds_table(told: Told) -> Table:
    """Seconds that each step took to make, round by round; a star where it was found."""
    numbers = told.steps["round"].unique().sort().to_list()
    rows = []
    for (step,), made in told.steps.group_by("step", maintain_order=True):
        cells = [_spent(made.filter(pl.col("round") == number)) for number in numbers]
        rows.append([str(step), *cells, f"{made['took'].sum():.1f}"])
    total = [told.steps.filter(pl.col("round") == number)["took"].sum() for number in numbers]
    rows.append(["total", *(f"{each:.1f}" for each in total), f"{told.steps['took'].sum():.1f}"])
    names = [f"round {number}" if number else "before" for number in numbers]
    return Table("Seconds per step", ["step", *names, "total"], rows)


def pairs_table(cost: pl.DataFrame) -> Table:
    """Pairs needed, scored and reused per round."""
    kept = cost.filter(pl.col("pairs") > 0)
    rows = [
        [f"round {number}" if number else "before", *(f"{count:,}" for count in counts)]
        for number, *counts in kept.select("round", "pairs", "scored", "reused", "tokens").iter_rows()
    ]
    return Table("Pairs", ["round", "pairs", "scored", "reused", "tokens read"], rows)


def reading(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """False negatives with what the teacher says of them and what was labelled."""
    return [
        {
            "query": row["query"],
            "passage": row["passage"],
            "labelled": _joined(row["labelled"]),
            "rank": row["rank"],
            "said": row["reason"],
        }
        for row in rows.iter_rows(named=True)
    ]


def changes(rows: pl.DataFrame, outcome: str, systems: tuple[str, str]) -> list[dict[str, Any]]:
    """Queries of one outcome, with what came first before and after."""
    return [
        {
            "query": row["query"],
            "change": f"{systems[0]} {row['before']:.3f}, {systems[1]} {row['after']:.3f}",
            "first_before": row["first_before"] or "nothing was found",
            "first_after": row["first_after"] or "nothing was found",
            "right_before": row["right_before"],
            "right_after": row["right_after"],
            "wanted": "" if row["right_before"] or row["right_after"] else _joined(row["labelled"]),
        }
        for row in rows.filter(pl.col("outcome") == outcome).iter_rows(named=True)
    ]


def serving(told: Told) -> list[str]:
    """What changes for whoever serves the student."""
    if told.winner == "base":
        return ["Nothing changes: the base stays, and so do its vectors."]
    encoded = [fact for fact in told.facts("encode") if "passages" in fact]
    count = f"{encoded[-1]['passages']:,} passages" if encoded else "every passage"
    took = told.steps.filter(pl.col("step") == "encode")["took"]
    spent = f", which took about {took[-1]:.0f} seconds on the machine of this run" if encoded else ""
    return [
        f"Everything is encoded again: {count}{spent}. Vectors of {told.winner} are other vectors than the base's.",
        "Old and new vectors must not mix in one index: their similarities mean nothing to each other, and nothing "
        "would complain. Build the new index beside the old one, then switch queries and passages at once.",
        "Thresholds on the similarity (“no answer below 0.4”) were made for the base and have to be set again"
        f"{_cutoff(told)}.",
        f"The folder to serve: remine export {told.run} my-student. It loads with SentenceTransformer; size and "
        "speed are those of the base.",
    ]


def _cutoff(told: Told) -> str:
    """The winner's own, where it was found."""
    found = {fact["system"]: fact for fact in told.facts("threshold")}
    own, base = found.get(told.winner, {}), found.get("base", {})
    if not own:
        return ""
    of_base = f" (for the base it was {base['threshold']:.3f})" if base.get("threshold") is not None else ""
    return f". For {told.winner}, {own['sentence']}{of_base}"


def reproduce(told: Told) -> list[str]:
    """How to get the same figures again."""
    versions = ", ".join(f"{name} {number}" for name, number in json.loads(told.row["facts"])["versions"].items())
    return [
        "Save the recipe above as recipe.toml, set the paths in it (only their last part is shown here), and run: "
        "remine run recipe.toml. On the same machine the result is the same to the last bit.",
        f"Versions: {versions}.",
        f'The run\'s scores, verdicts and measures: remine sql "FROM leaderboard WHERE run = {told.run}".',
    ]


def warnings(told: Told) -> list[str]:
    """What was known before anything was trained, what a diagnosis found, and what would have done without training."""
    gates = told.facts("gate")
    found = [gate.told(gates[0], 0)] if stopped_by(gates) else []
    found += [f"{text[0].upper()}{text[1:]}." for fact in told.facts("baseline") for text in fact.get("warnings", [])]
    found += [text for fact in told.facts("diagnose") for text in fact["warnings"]]
    return found if told.winner == "base" else found + shortcuts(told.figures)


def shortcuts(figures: Figures) -> list[str]:
    """What brings most of the gain without training, or without distillation, in a sentence each."""
    found, winner = [], figures.winner
    if figures.has("hybrid"):
        free, gained = (figures.value(system) - figures.value("base") for system in ("hybrid", winner))
        if free >= MOST * gained:
            found.append(
                f"Hybrid, which is BM25 and the untrained base together, is {signed(free)} above the base, and "
                f"{winner} is {signed(gained)} above it: fusing two rankings brings most of it without any training."
            )
    if figures.has("teacher") and figures.has("warm") and winner != "warm":
        asked, gained = figures.gain("teacher", "warm"), figures.value(winner) - figures.value("warm")
        if asked.low > 0 and asked.difference >= MOST * gained:
            found.append(
                f"The teacher re-ranking what warm finds is {signed(asked.difference)} above warm [95 % interval "
                f"{signed(asked.low)} … {signed(asked.high)}], and {winner} is {signed(gained)} above it: where "
                "the teacher can be asked at every search, re-ranking brings most of it, or more, without distillation."
            )
    return found


def decisions(told: Told) -> list[str]:
    """Every decision in a sentence."""
    made = told.steps.filter(pl.col("step").is_in(["gate", "promote"]))
    found = []
    for number, step, text in made.select("round", "step", "facts").iter_rows():
        facts = json.loads(text)
        found.append(gate.told(facts, number) if step == "gate" else f"{facts['sentence']}.")
    promoted = [fact for fact in told.facts("promote") if "halved" in fact]
    return [*dict.fromkeys(found), *([about_dev(promoted[-1])] if promoted else [])]


def _spent(made: pl.DataFrame) -> str:
    if made.is_empty():
        return "–"
    return f"{made['took'].sum():.1f}{'' if made['made'].any() else ' *'}"


def _joined(texts: list[str] | None) -> str:
    return "\n— or —\n".join((texts or [])[:3]) or "nothing"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}" if value == int(value) and value > 1 else f"{value:.3f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
