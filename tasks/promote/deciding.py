"""The better of two students goes on, by its dev measure; the base can win."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from tasks.artifacts import Artifact, make_artifact
from tasks.promote.settings import Promotion
from tasks.refs import StudentRef
from tasks.settings import Settings

VERSION = 1

Contender = tuple[StudentRef, Artifact]


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

    @property
    def contender(self) -> Contender:
        """The winner as the incumbent of the next decision."""
        return self.winner, self.measured


def decide(root: Path, incumbent: Contender, challenger: Contender, settings: Promotion, measure: str) -> Decision:
    """Compare two evaluated students on dev, query by query, and write the decision down.

    By the rule `better` the test and the interval are reported and don't decide; by `proven` the test does. Where
    dev also chose checkpoints, both are optimistic.

    Args:
        root: Folder of all artifacts.
        incumbent: The student to beat and its evaluation.
        challenger: The new student and its evaluation.
        settings: Rule and seed.
        measure: The measure that decides, the same that chose checkpoints.

    Raises:
        ValueError: The two were measured on different queries.
    """
    artifact = make_artifact(
        root,
        "promote",
        VERSION,
        {
            **settings.model_dump(mode="json"),
            "measure": measure,
            "systems": [incumbent[0].system, challenger[0].system],
        },
        {
            "incumbent": incumbent[0].fingerprint,
            "challenger": challenger[0].fingerprint,
            "incumbent_measured": incumbent[1].fingerprint,
            "challenger_measured": challenger[1].fingerprint,
        },
        lambda folder: _write_decision(folder, incumbent, challenger, settings, measure),
    )
    facts = json.loads(artifact.file("decision.json").read_text("utf-8"))
    winner, measured = challenger if facts["promoted"] else incumbent
    shown = {name: facts[name] for name in ("promoted", "measure", "difference", "p", "low", "high", "sentence")}
    return Decision(winner=winner, measured=measured, artifact=artifact, **shown)


def _write_decision(
    folder: Path, incumbent: Contender, challenger: Contender, settings: Promotion, measure: str
) -> Mapping[str, Any]:
    import polars as pl

    from tasks.evaluate.paired import compare

    old, new = (pl.read_parquet(measured.file("query_metrics.parquet")) for _, measured in (incumbent, challenger))
    found = compare(old, new, "dev", measure, settings.seed)
    is_better = found.difference > 0
    promoted = is_better and (settings.rule == "better" or found.p < settings.level)
    facts: dict[str, Any] = {
        "winner": (challenger if promoted else incumbent)[0].system,
        "loser": (incumbent if promoted else challenger)[0].system,
        "promoted": promoted,
        "rule": settings.rule,
        "level": settings.level,
        "measure": measure,
        "queries": found.queries,
        "difference": found.difference,
        "p": found.p,
        "low": found.low,
        "high": found.high,
    }
    facts["sentence"] = _sentence(facts)
    (folder / "decision.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", "utf-8")
    names = ("difference", "p", "low", "high", "queries")
    rows = [(f"promotion {measure} dev {name}", float(facts[name]), facts["sentence"]) for name in names]
    schema = {"name": pl.String, "value": pl.Float64, "note": pl.String}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / "diagnostics.parquet", compression="zstd")
    return facts


def _sentence(facts: Mapping[str, Any]) -> str:
    winner, loser = facts["winner"], facts["loser"]
    unproven = not facts["promoted"] and facts["difference"] > 0
    outcome = f"{winner} replaces {loser}" if facts["promoted"] else f"{winner} stays, {loser} does not replace it"
    if unproven:
        outcome += f", whose gain is not proven (p below {facts['level']:g} is)"
    return (
        f"{outcome}: {facts['measure']} on {facts['queries']} dev queries {facts['difference']:+.4f} "
        f"(95 % interval {facts['low']:+.4f} to {facts['high']:+.4f}, p = {facts['p']:.4f})"
    )
