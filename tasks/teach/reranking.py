"""The dev measure that chooses a teacher's checkpoint: re-ranking what the warm student ranked first."""

from collections.abc import Callable

import polars as pl

from models.teacher import Teacher
from tasks.artifacts import Artifact
from tasks.evaluate.halves import select
from tasks.evaluate.measures import mean_values, measure_queries
from tasks.evaluate.ranking import rerank
from tasks.evaluate.tables import read_judged
from tasks.train.arrays import KEYS, Texts


def rerank_measure(
    corpus: Artifact, ranked: Artifact, measure: str, most: int, batch_tokens: int | None
) -> Callable[[Teacher], float]:
    """Make the function that measures a teacher on dev, by the queries that choose.

    Args:
        corpus: Texts and labels.
        ranked: The warm student's evaluation: whose candidates are re-ranked, and how deep.
        measure: Its ir-measures name.
        most: Dev queries looked at; those with the smallest hashes.
        batch_tokens: Padded tokens per inference batch; None takes what suits the device.
    """
    whole = read_judged(corpus)
    judged = select(whole.splits["dev"])
    queries = judged["query_hash"].unique().sort().head(most)
    judged = judged.filter(pl.col("query_hash").is_in(queries.implode()))
    depth = int(ranked.about()["settings"]["rerank_depth"])
    ranking = pl.read_parquet(ranked.file("ranking.parquet")).filter(pl.col("query_hash").is_in(queries.implode()))
    top = ranking.filter(pl.col("rank") <= depth)
    texts = pair_texts(Texts.read(corpus), top)

    def evaluate(teacher: Teacher) -> float:
        scores = teacher.score(texts, batch_tokens)
        judged_pairs = top.select(KEYS).with_columns(judgement=pl.Series(scores.logits))
        again = whole.documents.ranked(rerank(ranking, judged_pairs, depth))
        return mean_values(measure_queries(judged, again))[measure]

    return evaluate


def pair_texts(texts: Texts, pairs: pl.DataFrame) -> list[tuple[str, str]]:
    """The texts of pairs named by their hashes."""
    queries = texts.queries["text"].gather(texts.query_rows(pairs["query_hash"])).to_list()
    passages = texts.passages["text"].gather(texts.passage_rows(pairs["passage_hash"])).to_list()
    return list(zip(queries, passages, strict=True))
