"""What was found, with a sentence on what a bad value looks like, and a warning where it is one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten

import polars as pl

from tasks.diagnose.geometry import Geometry

KEYS = ["query_hash", "passage_hash"]
ANISOTROPIC = 0.5
NOTES = {
    "negative": "A share. Below 0.1 there is hardly anything left to push away.",
    "approved": "A share. Above 0.5 the teacher likes nearly all: its threshold or calibration is off.",
    "promoted": "A share. Above 0.5 most candidates became positives: its threshold or calibration is off.",
    "ambiguous": "A share. Above 0.5 the teacher is unsure of most: review some, or take another teacher.",
    "unscored": "A share. Anything above 0 is lost to training.",
}


@dataclass(frozen=True)
class Finding:
    """One figure.

    Attributes:
        name: What was measured.
        value: The figure; None where there was nothing to measure.
        note: What a bad value looks like.
        is_bad: This is one.
    """

    name: str
    value: float | None
    note: str
    is_bad: bool = False


def of_geometry(found: Geometry) -> list[Finding]:
    """The figures of a student's vectors."""
    least = 0.1 * found.dimensions
    return [
        Finding(
            "alignment",
            found.alignment,
            f"Squared distance of labelled pairs; random pairs have {found.unaligned:.3f}. Near that, the model "
            "doesn't bring together what belongs together.",
            found.alignment >= 0.8 * found.unaligned,
        ),
        Finding(
            "uniformity",
            found.uniformity,
            "Spread over the sphere; −4 is even. Nearer to 0 than −1.5, passages crowd in one place.",
            found.uniformity > -1.5,
        ),
        Finding(
            "random-pair cosine",
            found.cosine,
            f"Cosine of unrelated passages. Above {ANISOTROPIC} the space is anisotropic: everything is similar to "
            "everything, and a threshold on the similarity tells little.",
            found.cosine > ANISOTROPIC,
        ),
        Finding("random-pair cosine, 5th percentile", found.low, "Close to the 95th: similarities hardly differ."),
        Finding("random-pair cosine, 95th percentile", found.high, "Near the positives' own: strangers look related."),
        Finding(
            "components holding 95 % of variance",
            found.components,
            f"Of {found.dimensions}. A handful means that most dimensions carry nothing.",
            found.components < 0.05 * found.dimensions,
        ),
        Finding(
            "effective rank",
            found.effective_rank,
            f"Dimensions in use, of {found.dimensions}. Below {least:.0f} the vectors have collapsed: passages can't "
            "be told apart, whatever the loss says.",
            found.effective_rank < least,
        ),
    ]


def of_agreement(pairs: pl.DataFrame) -> Finding:
    """How far a student orders candidates as the teacher does: Spearman's correlation, mean over queries.

    Args:
        pairs: `query_hash, similarity, logit`.
    """
    ranks = pairs.with_columns(
        student=pl.col("similarity").rank().over("query_hash"), teacher=pl.col("logit").rank().over("query_hash")
    )
    per_query = ranks.group_by("query_hash").agg(value=pl.corr("student", "teacher"))["value"]
    known = per_query.filter(per_query.is_finite())
    value = float(known.mean()) if len(known) else None  # type: ignore[arg-type]
    return Finding(
        "rank agreement with the teacher",
        value,
        "Over each train query's candidates, by Spearman; 1 is the teacher's own order. Below 0.1 the "
        "student has not taken over the teacher's order.",
        value is not None and value < 0.1,
    )


def of_overlap(now: pl.DataFrame, before: pl.DataFrame) -> Finding:
    """How many of a round's negatives were negatives of the round before.

    Args:
        now: Verdicts of this round: `query_hash, passage_hash, verdict`.
        before: The same of the round before.
    """
    new, old = (frame.filter(pl.col("verdict") == "negative").select(KEYS) for frame in (now, before))
    value = new.join(old, on=KEYS, how="semi").height / new.height if new.height else None
    return Finding(
        "negatives that the round before had",
        value,
        "A share. Above 0.95 mining again has found nothing new, and the round teaches the same lesson twice.",
        value is not None and value > 0.95,
    )


def of_verdicts(verdicts: pl.DataFrame) -> list[Finding]:
    """The share of candidates per verdict; labelled positives are not counted."""
    counts = dict(verdicts.filter(pl.col("verdict") != "positive").group_by("verdict").len().iter_rows())
    total = sum(counts.values())
    shares = {name: counts.get(name, 0) / total if total else None for name in NOTES}
    return [
        Finding(f"candidates: {name}", share, NOTES[name], share is not None and _is_odd(name, share))
        for name, share in shares.items()
        if share or name in ("negative", "approved")
    ]


def _is_odd(verdict: str, share: float) -> bool:
    return share < 0.1 if verdict == "negative" else share > {"unscored": 0.0}.get(verdict, 0.5)


def of_probes(probes: Sequence[Sequence[str]], similarities: Sequence[float]) -> list[Finding]:
    """The similarity of pairs of the user's own, a query and a passage each."""
    return [
        Finding(
            f"probe: {shorten(query, 60)} | {shorten(passage, 60)}",
            value,
            "Similarity of a pair of your own: what belongs together rises above the base's, what doesn't falls.",
        )
        for (query, passage), value in zip(probes, similarities, strict=True)
    ]


def of_facts(mined: Mapping[str, float], scored: Mapping[str, float], encoded: Mapping[str, float]) -> list[Finding]:
    """Short lists and truncation, from what the steps wrote down."""
    short = mined["short_lists"] / mined["queries"] if mined["queries"] else 0.0
    cut, read = float(encoded["truncated_share"]), float(scored["truncated_share"])
    return [
        Finding(
            "lists shorter than asked",
            short,
            "A share of queries. Above 0.2 the corpus or the depth is too small for the window.",
            short > 0.2,
        ),
        Finding(
            "passages that the student cuts",
            cut,
            "A share. Above 0.1 what stands at the end of passages can't be found: allow more tokens, or split them.",
            cut > 0.1,
        ),
        Finding("pairs that the teacher cuts", read, "A share. Above 0.1 it judges what it has not read.", read > 0.1),
    ]
