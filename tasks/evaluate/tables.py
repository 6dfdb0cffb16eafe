"""The tables every evaluated system leaves behind: its ranking, its measures, its measures per query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import Artifact
from tasks.documents import Documents, read_judgements
from tasks.evaluate.chance import chance_queries
from tasks.evaluate.measures import judged_queries, mean_values, measure_queries

SPLITS = ("dev", "test")
KEYS = ["query_hash", "passage_hash"]


@dataclass(frozen=True)
class Judged:
    """What systems are measured against.

    Attributes:
        splits: Per split that has positives, `query_hash, passage_hash, grade` of its counted queries.
        passages: How many distinct passages a ranking is chosen from; of a cut corpus, how many documents.
        documents: Which passages make up which document.
    """

    splits: Mapping[str, pl.DataFrame]
    passages: int
    documents: Documents

    @property
    def queries(self) -> list[int]:
        """Every counted query once, sorted."""
        hashes = pl.concat([frame["query_hash"] for frame in self.splits.values()])
        return hashes.unique().sort().to_list()


def read_judged(corpus: Artifact) -> Judged:
    """Read the dev and test labels of a corpus; of one that is measured on alone, the labels of its one split.

    Of a corpus that was cut they name documents.

    Raises:
        ValueError: A label names a query or passage that the corpus does not have, or no dev query has a
            positive, so that nothing could choose between two students.
    """
    labels, documents = read_judgements(corpus), Documents.read(corpus)
    passages = pl.read_parquet(corpus.file("passages.parquet"), columns=["hash"])
    queries = pl.read_parquet(corpus.file("queries.parquet"), columns=["hash"])
    judgeable = passages if documents.parts is None else documents.parts.select(hash="document_hash")
    for column, known in (("query_hash", queries), ("passage_hash", judgeable)):
        _check_known(corpus, labels, column, known)
    alone = corpus.facts.get("measured")
    found = {split: judged_queries(labels, split) for split in ((alone,) if alone else SPLITS)}
    splits = {split: frame for split, frame in found.items() if frame.height}
    if not alone and "dev" not in splits:
        raise ValueError(
            f"{corpus.path}: no dev query has a positive label; without one, neither a checkpoint nor a student "
            "can be chosen"
        )
    return Judged(splits, documents.count(passages.height), documents)


def write_ranked(folder: Path, system: str, judged: Judged, ranking: pl.DataFrame, depth: int) -> dict[str, Any]:
    """Measure a ranking and write ranking, metrics and query_metrics.

    Args:
        folder: Where the files go.
        system: Name of the system that made the ranking.
        judged: What is right.
        ranking: `query_hash, passage_hash, rank, score`, ranks from 1 to `depth`; of a cut corpus, the best passage of
            each document.
        depth: Length of the lists; chance is given the same.

    Returns:
        Facts: the system and its measures per split.
    """
    ranking = ranking.sort("query_hash", "rank")
    ranking.write_parquet(folder / "ranking.parquet", compression="zstd")
    per_query = {
        split: measure_queries(frame, judged.documents.ranked(ranking)) for split, frame in judged.splits.items()
    }
    return write_measured(folder, system, judged, per_query, depth)


def write_measured(
    folder: Path, system: str, judged: Judged, per_query: Mapping[str, pl.DataFrame], depth: int
) -> dict[str, Any]:
    """Write metrics and query_metrics from values per query; every value stands beside that of chance."""
    metrics, queries, facts = [], [], {}
    for split, values in per_query.items():
        floor = mean_values(chance_queries(judged.splits[split], judged.passages, depth))
        means = mean_values(values)
        count = judged.splits[split]["query_hash"].n_unique()
        metrics += [(system, split, name, value, floor[name], count) for name, value in means.items()]
        queries.append(values.select(pl.lit(system).alias("system"), pl.lit(split).alias("split"), pl.all()))
        facts[split] = {name: round(value, 6) for name, value in means.items()}
    _metrics_frame(metrics).write_parquet(folder / "metrics.parquet", compression="zstd")
    query_metrics = pl.concat(queries).select("system", "split", "query_hash", "measure", "value")
    query_metrics.write_parquet(folder / "query_metrics.parquet", compression="zstd")
    return {"system": system, "measures": facts, "queries": {split: len(q) for split, q in _counted(judged).items()}}


def _counted(judged: Judged) -> dict[str, list[int]]:
    return {split: frame["query_hash"].unique().to_list() for split, frame in judged.splits.items()}


def _metrics_frame(rows: Sequence[tuple[str, str, str, float, float, int]]) -> pl.DataFrame:
    schema = {
        "system": pl.String,
        "split": pl.String,
        "measure": pl.String,
        "value": pl.Float64,
        "chance": pl.Float64,
        "queries": pl.Int32,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _check_known(corpus: Artifact, labels: pl.DataFrame, column: str, known: pl.DataFrame) -> None:
    missing = labels.filter(pl.col("split").is_in(SPLITS)).join(known, left_on=column, right_on="hash", how="anti")
    if missing.height:
        some = missing[column].unique().sort().head(3).to_list()
        kind = column.removesuffix("_hash")
        raise ValueError(
            f"{corpus.path}/labels.parquet: {missing.height} labels name a {kind} that the corpus does not have "
            f"(for example {some}); measured like this, every system would look worse than it is"
        )
