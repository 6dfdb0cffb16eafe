"""Making one teacher of several ready ones: each scores the warm student's candidates, which settles its scale."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.identity import fingerprint
from tasks.refs import Member, Run, TeacherRef
from tasks.score.ensemble import scale_of
from tasks.score.scoring import Work, score_pairs
from tasks.score.settings import Scoring

VERSION = 1


def score_members(run: Run, corpus: Artifact, pairs: Artifact, teachers: Sequence[TeacherRef]) -> list[Artifact]:
    """Let every member score the pairs that settle its scale; round 1 asks for the same ones.

    Args:
        run: Run and machine.
        corpus: Texts.
        pairs: The warm student's candidates with the labelled positives.
        teachers: The members; the artifacts are in their order.

    Raises:
        ValueError: A model is there twice.
    """
    in_order(teachers)
    works = [Work(run=run, corpus=corpus, pairs=pairs, teacher=teacher, sizes=Scoring()) for teacher in teachers]
    return [score_pairs(work) for work in works]


def gather_ensemble(root: Path, teachers: Sequence[TeacherRef], scored: Sequence[Artifact]) -> Artifact:
    """Write teacher.json: whose logits an ensemble is the mean of, and the mean and deviation of each.

    Args:
        root: Folder of all artifacts.
        teachers: The members; their order makes no difference.
        scored: The scores of each.

    Raises:
        ValueError: A model is there twice, or gives every pair the same logit.
    """
    members = in_order(teachers)
    by_member = {teacher.fingerprint: artifact for teacher, artifact in zip(teachers, scored, strict=True)}

    def build(folder: Path) -> Mapping[str, Any]:
        told = []
        for teacher in members:
            scores = by_member[teacher.fingerprint].file("scores.parquet")
            logits = pl.read_parquet(scores, columns=["logit"])["logit"].to_numpy()
            mean, deviation = scale_of(logits, teacher.name)
            told.append({"fingerprint": teacher.fingerprint, "mean": mean, "deviation": deviation})
        (folder / "teacher.json").write_text(json.dumps({"members": told}, indent=1) + "\n", "utf-8")
        return {"teacher": fingerprint("ensemble", told), "members": told}

    inputs = {f"scored-{number}": by_member[each.fingerprint].fingerprint for number, each in enumerate(members, 1)}
    return make_artifact(root, "teach", VERSION, {"ensemble": len(members)}, inputs, build)


def ensemble_of(artifact: Artifact, teachers: Sequence[TeacherRef]) -> TeacherRef:
    """The teacher that `gather_ensemble` made of these members."""
    facts = artifact.facts
    members = tuple(
        Member(teacher=teacher, mean=told["mean"], deviation=told["deviation"])
        for teacher, told in zip(in_order(teachers), facts["members"], strict=True)
    )
    name = " + ".join(teacher.name for teacher in teachers)
    return TeacherRef(fingerprint=facts["teacher"], path=artifact.path, name=name, members=members, listwise=True)


def in_order(teachers: Sequence[TeacherRef]) -> list[TeacherRef]:
    """Members by fingerprint, so that naming them in another order is the same ensemble.

    Raises:
        ValueError: Two are the same model.
    """
    ordered = sorted(teachers, key=lambda teacher: teacher.fingerprint)
    for one, other in pairwise(ordered):
        if one.fingerprint == other.fingerprint:
            raise ValueError(
                f"teacher.model names one model twice, as {one.name!r} and {other.name!r}; it would count twice in the "
                "mean. Name every member once"
            )
    return ordered
