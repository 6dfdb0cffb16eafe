"""The similarity below which “no answer” is the better answer, found on dev for each student anew."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.evaluate.halves import chosen_by, decide, is_halved, select
from tasks.evaluate.tables import KEYS, read_judged

VERSION = 1


@dataclass(frozen=True)
class Told:
    """What a cut-off does to queries that are asked twice: with their relevant passages in the corpus, and without.

    Attributes:
        precision: Of the answers that are given, how many are labelled relevant; None where none is given.
        recall: Of the queries whose passages are there, how many get a relevant first answer.
        queries: How many queries.
    """

    precision: float | None
    recall: float
    queries: int


def threshold_of(root: Path, corpus: Artifact, evaluated: Artifact) -> Artifact:
    """Choose a student's cut-off by the dev queries that choose, and tell it by those that decide.

    Writes diagnostics.parquet; system, threshold (None where no first passage is relevant), precision, recall, queries
    and a sentence are among the facts.

    Args:
        root: Folder of all artifacts.
        corpus: Its labels.
        evaluated: The student's evaluation.
    """
    system = str(evaluated.about()["settings"]["system"])

    def build(folder: Path) -> Mapping[str, Any]:
        whole = read_judged(corpus)
        right = whole.documents.passages_of(whole.splits["dev"].filter(pl.col("grade") > 0))
        dev = right.with_columns(grade=pl.lit(1))
        asked = asked_twice(pl.read_parquet(evaluated.file("ranking.parquet")), dev)
        threshold = best_threshold(select(asked))
        told = None if threshold is None else told_by(decide(asked), threshold)
        facts = {"system": system, "threshold": threshold, **(asdict(told) if told else {})}
        facts["sentence"] = _sentence(threshold, told, is_halved(asked))
        rows = [(name, facts.get(name)) for name in ("threshold", "precision", "recall")]
        named = [(name if name == "threshold" else f"threshold {name}", value) for name, value in rows]
        frame = pl.DataFrame(named, schema={"name": pl.String, "value": pl.Float64}, orient="row")
        noted = frame.with_columns(note=pl.lit(facts["sentence"]))
        noted.write_parquet(folder / "diagnostics.parquet", compression="zstd")
        return facts

    inputs = {"corpus": corpus.fingerprint, "evaluated": evaluated.fingerprint}
    return make_artifact(root, "threshold", VERSION, {"system": system, **chosen_by(corpus)}, inputs, build)


def asked_twice(ranking: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """What a search would show first with a query's relevant passages in the corpus, and without them.

    Args:
        ranking: `query_hash, passage_hash, rank, score`.
        judged: `query_hash, passage_hash, grade`.

    Returns:
        `query_hash, similarity, relevant, other`: of the first passage, and the similarity of the first that is not
        labelled relevant (null where the ranking has none).
    """
    graded = ranking.join(judged.select("query_hash").unique(), on="query_hash", how="semi").join(
        judged.select(*KEYS, "grade"), on=KEYS, how="left"
    )
    ordered = graded.with_columns(right=pl.col("grade").fill_null(0) > 0).sort("query_hash", "rank")
    return ordered.group_by("query_hash", maintain_order=True).agg(
        similarity=pl.col("score").first().cast(pl.Float64),
        relevant=pl.col("right").first(),
        other=pl.col("score").filter(~pl.col("right")).first().cast(pl.Float64),
    )


def best_threshold(asked: pl.DataFrame) -> float | None:
    """The cut-off with the highest F1 of precision and recall, halfway to the next lower similarity; None where nothing
    that comes first is relevant.

    Args:
        asked: What `asked_twice` found.
    """
    others = asked["other"].drop_nulls().to_numpy()
    shown = np.concatenate([asked["similarity"].to_numpy(), others])
    right = np.concatenate([asked["relevant"].to_numpy(), np.zeros(len(others), dtype=np.bool_)])
    if not right.any():
        return None
    values, place = np.unique(-shown, return_inverse=True)  # highest similarity first, equal ones together
    given = np.cumsum(np.bincount(place))
    hits = np.cumsum(np.bincount(place, weights=right))
    best = int(np.argmax(2 * hits / (given + len(asked))))
    lower = -values[best + 1] if best + 1 < len(values) else -values[best]
    return float((-values[best] + lower) / 2)


def told_by(asked: pl.DataFrame, threshold: float) -> Told:
    """Precision and recall of a cut-off; see `Told`."""
    is_shown = asked.filter(pl.col("similarity") >= threshold)
    given = is_shown.height + asked.filter(pl.col("other") >= threshold).height
    hits = is_shown.filter(pl.col("relevant")).height
    return Told(hits / given if given else None, hits / asked.height, asked.height)


def _sentence(threshold: float | None, told: Told | None, halved: bool) -> str:
    if threshold is None or told is None:
        return "no cut-off: no first passage of a dev query is labelled relevant"
    precision = "no answer is left" if told.precision is None else f"{told.precision:.0%} of the answers are right"
    where = "that it was not chosen by" if halved else "that also chose it, which flatters it"
    return (
        f"below a similarity of {threshold:.3f}, “no answer” is the better answer: of {told.queries} dev queries "
        f"({where}), each asked with its labelled passages in the corpus and without them, {precision} (precision) and "
        f"{told.recall:.0%} of those with an answer get a right one first (recall)"
    )
