"""Calibrating a teacher on dev: how much of it goes into the blend, and what its judgement means as a probability."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.artifacts import Artifact, make_artifact
from tasks.denoise.blend import blended
from tasks.evaluate.halves import chosen_by, select
from tasks.evaluate.measures import mean_values, measure_queries
from tasks.evaluate.ranking import rerank
from tasks.evaluate.tables import Judged, read_judged
from tasks.refs import Blend, TeacherRef

VERSION = 2
KEYS = ["query_hash", "passage_hash"]


def calibrate_teacher(
    root: Path, corpus: Artifact, teacher: TeacherRef, evidence: tuple[Artifact, Artifact], how: tuple[list[float], str]
) -> TeacherRef:
    """The teacher with its blend, a and b; see `calibration`."""
    return calibrated(teacher, calibration(root, corpus, teacher, evidence, how))


def calibrated(teacher: TeacherRef, calibration: Artifact) -> TeacherRef:
    """A teacher as its calibration says."""
    facts = calibration.facts
    blend = Blend(weight=facts["weight"], depth=facts["depth"])
    return teacher.model_copy(update={"a": facts["a"], "b": facts["b"], "calibrated": True, "blend": blend})


def calibration(
    root: Path, corpus: Artifact, teacher: TeacherRef, evidence: tuple[Artifact, Artifact], how: tuple[list[float], str]
) -> Artifact:
    """Choose the blend by dev re-ranking and fit probability = sigmoid(a * judgement + b) (Platt) on the same pairs.

    Args:
        root: Folder of all artifacts.
        corpus: Texts and labels.
        teacher: Whose logits they are.
        evidence: The warm student's evaluation, and the teacher's scores of its pairs.
        how: Shares of the teacher to try, and the measure that decides; of equals the larger share wins.
    """
    (ranked, scored), (weights, measure) = evidence, how

    def build(folder: Path) -> Mapping[str, Any]:
        whole = read_judged(corpus)
        judged = replace(whole, splits={"dev": select(whole.splits["dev"])})
        depth = int(ranked.about()["settings"]["rerank_depth"])
        of_dev = judged.splits["dev"].select("query_hash").unique()
        ranking = pl.read_parquet(ranked.file("ranking.parquet")).join(of_dev, on="query_hash", how="semi")
        logits = pl.read_parquet(scored.file("scores.parquet")).select(*KEYS, "logit")
        pairs = ranking.filter(pl.col("rank") <= depth).join(logits, on=KEYS, how="inner")
        pairs = pairs.rename({"score": "similarity"})
        tried = {weight: _measured(ranking, pairs, judged, weight, depth)[measure] for weight in sorted(set(weights))}
        return {"depth": depth, **_chosen(tried, pairs, judged)}

    named = {"weights": weights, "measure": measure, **chosen_by(corpus)}
    inputs = {
        "corpus": corpus.fingerprint,
        "ranked": ranked.fingerprint,
        "scored": scored.fingerprint,
        "teacher": teacher.fingerprint,
    }
    return make_artifact(root, "calibrate", VERSION, named, inputs, build)


def platt(judgements: NDArray[np.float64], relevant: NDArray[np.bool_]) -> tuple[float, float]:
    """Fit sigmoid(a * judgement + b) to relevance by maximum likelihood (Platt 1999) among all a of at least 0.

    Args:
        judgements: Scores on any scale, (n,).
        relevant: Labels, (n,).

    Returns:
        a and b. a is 0, and every probability the share of relevant pairs, where higher judgements go with less
        relevance: see `refuse_upside_down`.

    Raises:
        ValueError: Every pair has the same label.
    """
    positives = int(relevant.sum())
    if positives in (0, len(relevant)):
        raise ValueError(
            f"{positives} of {len(relevant)} dev pairs are relevant; a probability can only be fitted where both kinds "
            "are there: widen evaluation.rerank_depth, or add dev labels"
        )
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1e6, solver="lbfgs", max_iter=1000)
    model.fit(judgements.reshape(-1, 1), relevant.astype(np.int64))
    a, b = float(model.coef_[0, 0]), float(model.intercept_[0])
    if a <= 0:
        return 0.0, float(np.log(positives / (len(relevant) - positives)))
    return a, b


def refuse_upside_down(teacher: TeacherRef) -> None:
    """Refuse a teacher that would go on to teach although its judgement goes against the labels.

    Raises:
        ValueError: Its probability does not rise with its judgement.
    """
    if teacher.a <= 0:
        raise ValueError(
            f"{teacher.name}: on dev, higher judgements go with less relevance; the teacher is worse than none: a "
            'random head, query and passage swapped, or a wrong activation. With teacher.gate = "stop" the run would '
            "end with what there is without a teacher"
        )


def _measured(
    ranking: pl.DataFrame, pairs: pl.DataFrame, judged: Judged, weight: float, depth: int
) -> dict[str, float]:
    """Measures of re-ranking by one blend."""
    raw = pairs.select(KEYS).with_columns(judgement=blended(pairs, weight))
    again = judged.documents.ranked(rerank(ranking, raw, depth))
    return mean_values(measure_queries(judged.splits["dev"], again))


def _chosen(tried: Mapping[float, float], pairs: pl.DataFrame, judged: Judged) -> dict[str, Any]:
    """The share that did best, of equals the larger, and the probability of its judgement."""
    best = max(sorted(tried, reverse=True), key=lambda weight: round(tried[weight], 6))
    a, b = _fit(pairs, judged, best)
    return {"weight": best, "a": a, "b": b, "tried": {str(weight): value for weight, value in tried.items()}}


def _fit(pairs: pl.DataFrame, judged: Judged, weight: float) -> tuple[float, float]:
    raw = blended(pairs, weight)
    right = judged.documents.passages_of(judged.splits["dev"].filter(pl.col("grade") > 0)).with_columns(right=True)
    found = pairs.select(KEYS).join(right, on=KEYS, how="left", maintain_order="left")
    relevant = found["right"].fill_null(False).to_numpy()
    return platt(raw.to_numpy(), relevant)
