"""The better of two students goes on, by its dev measure; the base can win."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from tasks.artifacts import Artifact, make_artifact
from tasks.promote.settings import Promotion
from tasks.refs import StudentRef
from tasks.settings import Settings

VERSION = 2
VALUES = "query_metrics.parquet"


class Contender(NamedTuple):
    """A student, its evaluation, and where there is a guard set, its evaluation on that.

    `held_to` is the evaluation on the guard set that whoever replaces this student is held to: that of the student
    that the run began with, since small losses of one student after another would add up. None: its own.
    """

    student: StudentRef
    measured: Artifact
    guarded: Artifact | None = None
    held_to: Artifact | None = None

    @property
    def general(self) -> Artifact | None:
        """What whoever replaces this student is held to."""
        return self.held_to or self.guarded


class Decision(Settings):
    """Who goes on, and how sure the difference is."""

    winner: StudentRef
    measured: Artifact = Field(description="The winner's evaluation.")
    artifact: Artifact = Field(description="Where the decision is written down.")
    promoted: bool = Field(description="The challenger won.")
    measure: str
    difference: float = Field(description="Challenger minus incumbent, mean over dev queries.")
    p: float = Field(description="Two-sided p-value of a paired randomisation test on dev.")
    low: float = Field(description="Lower end of the bootstrap 95 % interval of the difference.")
    high: float = Field(description="Its upper end.")
    sentence: str
    guarded: Artifact | None = Field(None, description="The winner's evaluation on the guard set.")
    held_to: Artifact | None = Field(None, description="The evaluation on the guard set that counts from here on.")

    @property
    def contender(self) -> Contender:
        """The winner as the incumbent of the next decision."""
        return Contender(self.winner, self.measured, self.guarded, self.held_to)


def decide(root: Path, incumbent: Contender, challenger: Contender, settings: Promotion, measure: str) -> Decision:
    """Compare two evaluated students on the dev queries that decide, query by query, and write the decision down.

    By the rule `better` the test and the interval are reported and don't decide; by `proven` the test does. Where
    there is a guard set, a challenger that loses more than the tolerance there, against what the incumbent is held to,
    stays out whatever dev says.

    Args:
        root: Folder of all artifacts.
        incumbent: The student to beat and its evaluation.
        challenger: The new student and its evaluation.
        settings: Rule, tolerance and seed.
        measure: The measure that decides, the same that chose checkpoints.

    Raises:
        ValueError: The two were measured on different queries, or only one of them on the guard set.
    """
    both = Contender(*incumbent), Contender(*challenger)
    roles = list(zip(("incumbent", "challenger"), both, strict=True))
    inputs = {role: each.student.fingerprint for role, each in roles}
    inputs |= {f"{role}_measured": each.measured.fingerprint for role, each in roles}
    inputs |= {f"{role}_guarded": each.guarded.fingerprint for role, each in roles if each.guarded}
    inputs |= {"held_to": both[0].general.fingerprint} if both[0].general else {}
    unused = {"guard"} if both[0].guarded else {"guard", "guard_tolerance"}
    named = settings.model_dump(mode="json", exclude=unused)  # where the guard set lies is told by the inputs
    named |= {"measure": measure, "systems": [each.student.system for each in both]}
    artifact = make_artifact(
        root, "promote", VERSION, named, inputs, lambda folder: _write_decision(folder, both, settings, measure)
    )
    facts = json.loads(artifact.file("decision.json").read_text("utf-8"))
    winner = both[1] if facts["promoted"] else both[0]
    shown = {name: facts[name] for name in ("promoted", "measure", "difference", "p", "low", "high", "sentence")}
    evaluated = {"measured": winner.measured, "guarded": winner.guarded, "held_to": both[0].general}
    return Decision(winner=winner.student, artifact=artifact, **evaluated, **shown)


def _write_decision(
    folder: Path, both: tuple[Contender, Contender], settings: Promotion, measure: str
) -> Mapping[str, Any]:
    import polars as pl

    from tasks.evaluate.halves import deciding, is_halved
    from tasks.evaluate.paired import compare

    dev = [pl.read_parquet(each.measured.file(VALUES)).filter(pl.col("split") == "dev") for each in both]
    found = compare(deciding(dev[0]), deciding(dev[1]), "dev", measure, settings.seed)
    guard = _guarded(both, settings, measure)
    is_better = found.difference > 0 and (settings.rule == "better" or found.p < settings.level)
    promoted = is_better and guard.get("guard_passed", True)
    systems = [each.student.system for each in both]
    facts: dict[str, Any] = {
        "winner": systems[promoted],
        "loser": systems[not promoted],
        "promoted": promoted,
        "rule": settings.rule,
        "level": settings.level,
        "measure": measure,
        "halved": is_halved(dev[0]),
        **asdict(found),
        **guard,
    }
    facts["sentence"] = _sentence(facts)
    (folder / "decision.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", "utf-8")
    rows = [(f"promotion {measure} dev {name}", float(value)) for name, value in asdict(found).items()]
    of_guard = [name for name in guard if name not in ("guard_system", "guard_passed", "guard_tolerance")]
    rows += [(f"promotion {measure} {name.replace('_', ' ')}", float(guard[name])) for name in of_guard]
    frame = pl.DataFrame(rows, schema={"name": pl.String, "value": pl.Float64}, orient="row")
    noted = frame.with_columns(note=pl.lit(facts["sentence"]))
    noted.write_parquet(folder / "diagnostics.parquet", compression="zstd")
    return facts


def _guarded(both: tuple[Contender, Contender], settings: Promotion, measure: str) -> dict[str, Any]:
    """How the challenger stands on the guard set against what the incumbent is held to; empty where there is none."""
    import polars as pl

    from tasks.evaluate.paired import compare

    paths = [each.guarded.file(VALUES) for each in both if each.guarded]
    if not paths and not settings.guard:
        return {}
    if len(paths) < 2:
        raise ValueError(
            f"promotion.guard is {settings.guard!r}, and of {both[0].student.system} and {both[1].student.system} only "
            f"{len(paths)} were measured on it; nobody would know what the new student forgets"
        )
    held_to = both[0].general
    assert held_to is not None  # both were measured on it
    found = compare(pl.read_parquet(held_to.file(VALUES)), pl.read_parquet(paths[1]), "guard", measure, settings.seed)
    return {
        "guard_system": held_to.about()["settings"]["system"],
        **{f"guard_{name}": value for name, value in asdict(found).items()},
        "guard_tolerance": settings.guard_tolerance,
        "guard_passed": found.difference >= -settings.guard_tolerance,
    }


def _sentence(facts: Mapping[str, Any]) -> str:
    winner, loser = facts["winner"], facts["loser"]
    unproven = not facts["promoted"] and facts["difference"] > 0
    outcome = f"{winner} replaces {loser}" if facts["promoted"] else f"{winner} stays, {loser} does not replace it"
    if not facts.get("guard_passed", True):
        outcome += ", which loses too much on the guard set"
    elif unproven:
        outcome += f", whose gain is not proven (p below {facts['level']:g} is)"
    told = (
        f"{outcome}: {facts['measure']} on {facts['queries']} dev queries {facts['difference']:+.4f} "
        f"(95 % interval {facts['low']:+.4f} to {facts['high']:+.4f}, p = {facts['p']:.4f})"
    )
    if "guard_passed" not in facts:
        return told
    return (
        f"{told}; on {facts['guard_queries']} queries of the guard set {facts['guard_difference']:+.4f} against "
        f"{facts['guard_system']} ({facts['guard_low']:+.4f} to {facts['guard_high']:+.4f}, down to "
        f"-{facts['guard_tolerance']:g} is allowed)"
    )
