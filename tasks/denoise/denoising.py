"""Judging every mined candidate and labelled positive by what the teacher says of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.denoise.blend import blended, similarities
from tasks.denoise.evidence import Evidence
from tasks.denoise.policies import NEEDS_PROBABILITY, judge, rules
from tasks.denoise.settings import Denoising
from tasks.refs import TeacherRef

VERSION = 4
KEYS = ["query_hash", "passage_hash"]
VERDICTS = ("positive", "promoted", "negative", "approved", "ambiguous", "unscored")
COLUMNS = {
    "query_hash": pl.Int64,
    "passage_hash": pl.Int64,
    "verdict": pl.String,
    "reason": pl.String,
    "weight": pl.Float32,
    "probability": pl.Float32,
    "judgement": pl.Float32,
}


def judge_candidates(root: Path, evidence: Evidence, teacher: TeacherRef, settings: Denoising) -> Artifact:
    """Write verdicts.parquet: one row per candidate and per labelled positive of a mined query.

    `weight` is 1 where the pair belongs to its query's training list and 0 where it is used for nothing;
    `judgement` is what the student is trained towards, in logits.

    Args:
        root: Folder of all artifacts.
        evidence: Corpus, vectors, candidates and scores.
        teacher: Calibration and blend.
        settings: Policy and thresholds.

    Raises:
        ValueError: A mined query belongs to dev or test, or the policy needs a probability (or the blend a
            scale) that this teacher doesn't have.
    """
    _check_scale(teacher, settings)

    def build(folder: Path) -> Mapping[str, Any]:
        pairs = gather(evidence)
        _check_positives(pairs, settings)
        verdicts = judge(with_judgement(pairs, teacher), rules(settings))
        verdicts = verdicts.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items()).sort(KEYS)
        verdicts.write_parquet(folder / "verdicts.parquet", compression="zstd")
        return facts(verdicts)

    scale = {"a": teacher.a, "b": teacher.b, "calibrated": teacher.calibrated, "listwise": teacher.listwise}
    identity = {"denoising": settings.model_dump(mode="json"), "scale": scale, "blend": teacher.blend.model_dump()}
    inputs = {**evidence.fingerprints(), "teacher": teacher.fingerprint}
    return make_artifact(root, "denoise", VERSION, identity, inputs, build)


def gather(evidence: Evidence) -> pl.DataFrame:
    """Put together what is known of each pair.

    Returns:
        `query_hash, passage_hash, labelled, rank, grade, by, similarity, logit`: candidates and labelled positives.
        What a person called relevant is a positive and has its rank where it was mined; the corpus' own have none.
    """
    candidates = pl.read_parquet(evidence.mined.file("candidates.parquet"))
    _check_train(candidates, pl.read_parquet(evidence.corpus.file("queries.parquet")))
    mined = pl.read_parquet(evidence.mined.file("pairs.parquet")).select("query_hash").unique()
    grades = known_grades(evidence)
    positives = grades.filter(pl.col("grade") > 0).join(mined, on="query_hash", how="semi").select(KEYS).sort(KEYS)
    of_positives = similarities(evidence.vectors, evidence.corpus, positives)
    pairs = pl.concat(
        [
            positives.with_columns(of_positives, labelled=pl.lit(True)).join(
                candidates.select(*KEYS, "rank"), on=KEYS, how="left", maintain_order="left"
            ),
            candidates.join(positives, on=KEYS, how="anti").select(
                *KEYS, "rank", similarity="student_score", labelled=pl.lit(False)
            ),
        ],
        how="diagonal",
    )
    known = [evidence.scored, *([evidence.reviewed.scored] if evidence.reviewed else [])]
    scores = pl.concat([pl.read_parquet(each.file("scores.parquet"), columns=[*KEYS, "logit"]) for each in known])
    return pairs.join(grades, on=KEYS, how="left").join(scores.unique(KEYS), on=KEYS, how="left").sort(KEYS)


def known_grades(evidence: Evidence) -> pl.DataFrame:
    """What is known of pairs, the highest grade of each: `query_hash, passage_hash, grade, by` (labelled, reviewed)."""
    read = [*KEYS, "grade"]
    labels = [pl.read_parquet(evidence.corpus.file("labels.parquet"), columns=read).with_columns(by=pl.lit("labelled"))]
    if evidence.reviewed is not None:
        reviewed = pl.read_parquet(evidence.reviewed.labels.file("labels.parquet"), columns=read)
        labels.append(reviewed.with_columns(by=pl.lit("reviewed")))
    return pl.concat(labels).sort("grade", descending=True, maintain_order=True).unique(KEYS, keep="first")


def with_judgement(pairs: pl.DataFrame, teacher: TeacherRef) -> pl.DataFrame:
    """Add `judgement` (logits), `probability` (null without a calibrated scale) and `lowest_positive`."""
    raw = pl.col("raw")
    on_scale = teacher.a * raw + teacher.b
    probable = 1.0 / (1.0 + (-on_scale).exp())
    has_scale = teacher.calibrated or not teacher.listwise
    is_mixed = teacher.blend.weight < 1.0
    in_depth = pl.col("rank") <= teacher.blend.depth if teacher.blend.depth else pl.lit(True)
    pairs = pairs.with_columns(counted=pl.col("labelled") | in_depth)
    judged = pairs.with_columns(blended(pairs, teacher.blend.weight)).with_columns(
        judgement=on_scale if is_mixed else raw,
        probability=probable if has_scale else pl.lit(None, pl.Float64),
    )
    positive = pl.when(pl.col("labelled")).then(pl.col("judgement"))
    return judged.with_columns(lowest_positive=positive.min().over("query_hash"))


def facts(verdicts: pl.DataFrame) -> dict[str, Any]:
    """Count verdicts, and how long the training lists are."""
    counts = dict(verdicts.group_by("verdict").len().iter_rows())
    in_list = (pl.col("weight") > 0) & ~pl.col("verdict").is_in(["positive", "promoted"])
    lengths = verdicts.group_by("query_hash").agg(length=in_list.sum())["length"]
    negatives = verdicts.group_by("query_hash").agg(n=(pl.col("verdict") == "negative").sum())["n"]
    return {
        "verdicts": {name: int(counts.get(name, 0)) for name in VERDICTS},
        "false_negatives": int(counts.get("approved", 0) + counts.get("promoted", 0)),
        "queries": len(lengths),
        "queries_without_negatives": int((negatives == 0).sum()),
        "empty_lists": int((lengths == 0).sum()),
        "median_list": float(lengths.median() or 0.0) if len(lengths) else 0.0,  # type: ignore[arg-type]
    }


def _check_scale(teacher: TeacherRef, settings: Denoising) -> None:
    if teacher.blend.weight < 1.0 and not teacher.calibrated:
        raise ValueError(
            f"teacher {teacher.name!r} is blended at weight {teacher.blend.weight} and not calibrated: the mix of "
            "standardised values has no logit scale until a and b are fitted on dev"
        )
    if teacher.listwise and not teacher.calibrated and settings.policy in (*NEEDS_PROBABILITY, "calibrated"):
        raise ValueError(
            f"policy {settings.policy!r} compares scores of queries, and teacher {teacher.name!r}, trained on "
            "lists or an ensemble, is not calibrated: its logits have no absolute scale. Calibrate it on dev, or use "
            "margin or keep"
        )
    if teacher.members and teacher.blend.weight == 1.0 and settings.policy == "margin":
        raise ValueError(
            f"policy 'margin' counts {settings.margin} logits, and those of the ensemble {teacher.name!r} are means of "
            "standardised ones (deviation 1): hardly a candidate would be a negative. Use soften, drop or calibrated"
        )


def _check_positives(pairs: pl.DataFrame, settings: Denoising) -> None:
    if settings.policy != "calibrated":
        return
    scored = pairs.filter(pl.col("labelled") & pl.col("logit").is_not_null()).height
    if scored * min(settings.quantile, 1 - settings.quantile) < 1:
        raise ValueError(
            f"policy 'calibrated' reads the quantile {settings.quantile} off the scores of known positives, and "
            f"{scored} of them are scored: too few for a threshold that isn't an accident"
        )


def _check_train(candidates: pl.DataFrame, queries: pl.DataFrame) -> None:
    named = candidates.select(hash="query_hash").unique().join(queries, on="hash", how="left")
    astray = named.filter(~pl.col("split").is_in(["train", ""]).fill_null(False))
    if astray.height:
        text, split = astray.sort("hash").row(0, named=True)["text"], astray.sort("hash").row(0, named=True)["split"]
        raise ValueError(
            f"{astray.height} lists belong to queries that are not train queries, first {text!r} of split {split!r}; "
            "training on them would make every measure on that split worthless"
        )
