"""Evaluating a student, and a teacher that re-ranks what a student found."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.evaluate.own import ranked_without_own
from tasks.evaluate.ranking import rank_by_vectors, rerank
from tasks.evaluate.settings import Evaluation
from tasks.evaluate.tables import KEYS, read_judged, write_ranked
from tasks.refs import TeacherRef

VERSION = 3


def evaluate_student(
    root: Path, system: str, corpus: Artifact, vectors: Artifact, settings: Evaluation, dimension: int | None = None
) -> Artifact:
    """Rank all passages for every counted dev and test query, and measure the rankings.

    Writes ranking.parquet, metrics.parquet, query_metrics.parquet and pairs.parquet (the first `rerank_depth`
    of every ranking, which a teacher can score).

    Args:
        root: Folder of all artifacts.
        system: base, warm, warm-long or round-N.
        corpus: passages, queries and labels.
        vectors: Vectors of this corpus by the student.
        settings: Depths.
        dimension: Rank by the first numbers of every vector alone, as the system `NAME@dimension`; None: by all.
    """
    system = shortened(system, dimension)

    def build(folder: Path) -> Mapping[str, Any]:
        judged = read_judged(corpus)
        rank = partial(rank_by_vectors, corpus, vectors, judged.queries, dimension=dimension)
        ignored = settings.ignore_identical_ids
        ranking = ranked_without_own(corpus, rank, settings.depth) if ignored else rank(settings.depth)
        pairs = ranking.filter(pl.col("rank") <= settings.rerank_depth).select(KEYS).sort(KEYS)
        pairs.write_parquet(folder / "pairs.parquet", compression="zstd")
        return {**write_ranked(folder, system, judged, ranking, settings.depth), "pairs": pairs.height}

    # The measure that decides changes no number here, so it is not part of the name.
    named = {"system": system, "depth": settings.depth, "rerank_depth": settings.rerank_depth, **settings.named}
    inputs = {"corpus": corpus.fingerprint, "vectors": vectors.fingerprint}
    return make_artifact(root, "evaluate", VERSION, named, inputs, build)


def shortened(system: str, dimension: int | None) -> str:
    """Name a student by the first numbers of its vectors alone; None: by all of them."""
    return system if dimension is None else f"{system}@{dimension}"


def evaluate_reranked(
    root: Path, corpus: Artifact, ranked: Artifact, scored: Artifact, teacher: TeacherRef
) -> Artifact:
    """Measure the teacher re-ranking the first passages of a student's rankings; the rest stays as it was.

    The judgement is the teacher's logit, or its blend with the similarity that the ranking was made by.

    Args:
        root: Folder of all artifacts.
        corpus: What `ranked` was made of.
        ranked: A student's evaluation.
        scored: The teacher's scores of at least `ranked`'s pairs.
        teacher: Whose scores they are, and with which blend they are used.
    """
    about = ranked.about()
    depth, rerank_depth = int(about["settings"]["depth"]), int(about["settings"]["rerank_depth"])
    system = reranked_name(str(about["settings"]["system"]))

    def build(folder: Path) -> Mapping[str, Any]:
        ranking = pl.read_parquet(ranked.file("ranking.parquet"))
        scores = pl.read_parquet(scored.file("scores.parquet"))
        judged = judge(ranking.filter(pl.col("rank") <= rerank_depth), scores, teacher.blend.weight)
        again = rerank(ranking, judged, rerank_depth)
        return write_ranked(folder, system, read_judged(corpus), again, depth)

    named = {"system": system, "depth": depth, "rerank_depth": rerank_depth, "weight": teacher.blend.weight}
    inputs = {
        "corpus": corpus.fingerprint,
        "ranking": ranked.fingerprint,
        "scores": scored.fingerprint,
        "teacher": teacher.fingerprint,
    }
    return make_artifact(root, "evaluate", VERSION, named, inputs, build)


def judge(top: pl.DataFrame, scores: pl.DataFrame, weight: float) -> pl.DataFrame:
    """Give the first passages of rankings the (blended) judgement of the teacher.

    Args:
        top: `query_hash, passage_hash, rank, score`; score is the student's similarity.
        scores: `query_hash, passage_hash, logit`.
        weight: The teacher's share in the blend.

    Returns:
        `query_hash, passage_hash, judgement`; without the pairs that were not scored.
    """
    from tasks.denoise.blend import blended

    known = top.join(scores.select(*KEYS, "logit"), on=KEYS, how="inner").rename({"score": "similarity"})
    return known.with_columns(blended(known, weight).alias("judgement")).select(*KEYS, "judgement")


def reranked_name(system: str) -> str:
    """Name the teacher re-ranking a student: `teacher` where the warm student's candidates are re-ranked."""
    return "teacher" if system == "warm" else f"{system}+teacher"
