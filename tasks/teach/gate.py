"""The teacher's gate: a student inherits what its teacher knows and no more."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.evaluate.paired import compare

VERSION = 1
LEVEL = 0.05
WAYS = (
    "Ways on: name a ready-made teacher that knows the language of your data (teacher.model); give more labels, or "
    'more steps to teach on them (teach.steps); or set teacher.gate = "warn" and see what comes of it. '
    "The warm student is trained and measured, whatever you choose"
)

log = logging.getLogger("remine.gate")


class TeacherAddsNothing(RuntimeError):
    """The teacher is not proven to know more than the student that it is to teach."""


def judge_teacher(root: Path, warm: Artifact, reranked: Artifact, measure: str, seed: int) -> Artifact:
    """Compare the warm student with the teacher re-ranking its candidates, on dev, paired and one-sided.

    A teacher whose activation, head or order of query and passage is wrong fails here, before it scores in bulk.

    Args:
        root: Folder of all artifacts.
        warm: The evaluation of the student that is to be taught.
        reranked: The evaluation of the (blended) teacher re-ranking what that student found.
        measure: What decides.
        seed: Seed of the test.

    Returns:
        An artifact with diagnostics.parquet, and the outcome in its facts: passed, p, difference, low, high, sentence.
    """

    def build(folder: Path) -> Mapping[str, Any]:
        student, teacher = (pl.read_parquet(each.file("query_metrics.parquet")) for each in (warm, reranked))
        found = compare(student, teacher, "dev", measure, seed)
        p = found.p / 2 if found.difference > 0 else 1 - found.p / 2
        passed = p < LEVEL
        means = [_mean(frame, measure) for frame in (teacher, student)]
        sentence = (
            f"the teacher re-ranking the warm student's candidates has {measure} {means[0]:.4f} on {found.queries} dev "
            f"queries, the warm student alone {means[1]:.4f}: {found.difference:+.4f} (95 % interval "
            f"{found.low:+.4f} to {found.high:+.4f}, one-sided p = {p:.4f})"
        )
        values = {"difference": found.difference, "p": p, "low": found.low, "high": found.high}
        rows = [(f"gate {measure} dev {name}", value, sentence) for name, value in values.items()]
        frame = pl.DataFrame(rows, schema=["name", "value", "note"], orient="row")
        frame.write_parquet(folder / "diagnostics.parquet", compression="zstd")
        return {"passed": passed, **values, "sentence": sentence}

    inputs = {"warm": warm.fingerprint, "reranked": reranked.fingerprint}
    return make_artifact(root, "gate", VERSION, {"measure": measure, "seed": seed}, inputs, build)


def hold(outcome: Artifact, gate: Literal["stop", "warn"]) -> None:
    """Let a teacher pass, or stop; by `warn` it passes with a warning.

    Raises:
        TeacherAddsNothing: It is not proven to be better, and the gate is to stop then.
    """
    facts = outcome.facts
    if facts["passed"]:
        return
    told = f"{facts['sentence']}; a student inherits what its teacher knows and no more"
    if gate == "stop":
        raise TeacherAddsNothing(f"stopped before anything is scored in bulk: {told}. {WAYS}.")
    log.warning("%s", told)


def _mean(frame: pl.DataFrame, measure: str) -> float:
    rows = frame.filter((pl.col("split") == "dev") & (pl.col("measure") == measure))
    return float(rows["value"].mean())  # type: ignore[arg-type]
