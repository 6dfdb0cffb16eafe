"""The teacher's gate: a student inherits what its teacher knows and no more."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.evaluate.halves import deciding
from tasks.evaluate.paired import compare
from tasks.settings import Settings

VERSION = 2
LEVEL = 0.05
INHERITS = "a student inherits what its teacher knows and no more"
WAYS = (
    "Ways on: name a ready-made teacher that knows the language of your data (teacher.model); give more labels, or "
    'more steps to teach on them (teach.steps); or set teacher.gate = "warn" and see what comes of it'
)

log = logging.getLogger("remine.gate")


class Gate(Settings):
    """What decides whether a teacher goes on teaching."""

    rule: Literal["stop", "warn"]
    measure: str
    seed: int


def judge_teacher(root: Path, student: Artifact, reranked: Artifact, gate: Gate) -> Artifact:
    """Compare a student with the teacher re-ranking its candidates, on dev, paired and one-sided.

    A teacher whose activation, head or order of query and passage is wrong fails here, before it scores in bulk. Where
    the student has been taught by it, failing means that the student has caught up.

    Args:
        root: Folder of all artifacts.
        student: The evaluation of the student that is to be taught next.
        reranked: The evaluation of the (blended) teacher re-ranking what that student found.
        gate: Measure, seed of the test, and whether failing ends the rounds.

    Returns:
        An artifact with diagnostics.parquet, and the outcome in its facts: system, passed, goes_on, p, difference, low,
        high, sentence.
    """

    def build(folder: Path) -> Mapping[str, Any]:
        both = [pl.read_parquet(each.file("query_metrics.parquet")) for each in (student, reranked)]
        alone, teacher = map(deciding, both)
        found = compare(alone, teacher, "dev", gate.measure, gate.seed)
        p = found.p / 2 if found.difference > 0 else 1 - found.p / 2
        passed = p < LEVEL
        system = str(student.facts["system"])
        means = [_mean(frame, gate.measure) for frame in (teacher, alone)]
        sentence = (
            f"the teacher re-ranking what {system} found has {gate.measure} {means[0]:.4f} on {found.queries} dev "
            f"queries, {system} alone {means[1]:.4f}: {found.difference:+.4f} (95 % interval "
            f"{found.low:+.4f} to {found.high:+.4f}, one-sided p = {p:.4f})"
        )
        values = {"difference": found.difference, "p": p, "low": found.low, "high": found.high}
        rows = [(f"gate {gate.measure} dev {name}", value, sentence) for name, value in values.items()]
        frame = pl.DataFrame(rows, schema=["name", "value", "note"], orient="row")
        frame.write_parquet(folder / "diagnostics.parquet", compression="zstd")
        goes_on = passed or gate.rule == "warn"
        return {"system": system, "passed": passed, "goes_on": goes_on, **values, "sentence": sentence}

    inputs = {"student": student.fingerprint, "reranked": reranked.fingerprint}
    return make_artifact(root, "gate", VERSION, gate.model_dump(mode="json"), inputs, build)


def told(outcome: Mapping[str, Any], number: int) -> str:
    """What a gate's outcome means, in sentences.

    Args:
        outcome: The facts of the artifact.
        number: The round that the student came out of; 0 is before the first.
    """
    sentence = f"{outcome['sentence'][0].upper()}{outcome['sentence'][1:]}"
    goes_on = outcome.get("goes_on", True)  # a run of an earlier version failed here, or went on
    if outcome["passed"]:
        return f"{sentence}."
    if number:
        end = "so no further round is made" if not goes_on else "and the gate only warns"
        return f"{sentence}: {outcome['system']} has caught up with its teacher, {end}."
    if goes_on:
        return f"{sentence}; {INHERITS}."
    return f"{sentence}; {INHERITS}, so no round was made and nothing scored in bulk. {WAYS}."


def hold(outcome: Artifact, number: int) -> bool:
    """Whether the teacher goes on teaching; where it is not proven to be better, a warning says what follows."""
    facts = outcome.facts
    if not facts["passed"]:
        log.warning("%s", told(facts, number))
    return bool(facts["goes_on"])


def _mean(frame: pl.DataFrame, measure: str) -> float:
    rows = frame.filter((pl.col("split") == "dev") & (pl.col("measure") == measure))
    return float(rows["value"].mean())  # type: ignore[arg-type]
