"""The dev measure that chooses checkpoints, computed while a student trains."""

from collections.abc import Callable

import numpy as np
import polars as pl

from models.student import Student
from tasks.artifacts import Artifact
from tasks.evaluate.halves import select
from tasks.evaluate.measures import mean_values, measure_queries
from tasks.evaluate.ranking import as_ranking
from tasks.evaluate.tables import read_judged
from tasks.mine.search import top_k
from tasks.train.arrays import Texts

MOST_PASSAGES = 20_000  # a larger corpus is sampled: every judged passage, then those with the smallest hashes


def dev_measure(corpus: Artifact, measure: str, batch_tokens: int | None) -> Callable[[Student], float]:
    """Make the function that measures a student on dev, by the queries that choose.

    Args:
        corpus: Texts and labels.
        measure: Its ir-measures name.
        batch_tokens: Padded tokens per inference batch; None takes what suits the device.
    """
    texts = Texts.read(corpus)
    whole = read_judged(corpus)
    judged = select(whole.splits["dev"])
    hashes = judged["query_hash"].unique().sort()
    queries = texts.queries["text"].gather(texts.query_rows(hashes)).to_list()
    passages = looked_at(texts.passages, whole.documents.passages_of(judged))

    def evaluate(student: Student) -> float:
        of_queries = student.encode_queries(queries, batch_tokens, None).vectors
        of_passages = student.encode_passages(passages["text"].to_list(), batch_tokens, None).vectors

        def ask(asked: list[int], k: int) -> pl.DataFrame:
            place = np.searchsorted(hashes.to_numpy(), asked)
            found = top_k(of_queries[place], of_passages, k)
            return as_ranking(np.asarray(asked), passages["hash"].to_numpy(), *found)

        ranking = whole.documents.retrieve(ask, hashes.to_list(), 100)
        return mean_values(measure_queries(judged, whole.documents.ranked(ranking)))[measure]

    return evaluate


def looked_at(passages: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """The passages that dev queries are searched in while a student trains: all of a small corpus.

    Args:
        passages: `hash, text`.
        judged: `query_hash, passage_hash` of dev.
    """
    if passages.height <= MOST_PASSAGES:
        return passages
    is_judged = pl.col("hash").is_in(judged["passage_hash"].unique().implode())
    others = passages.filter(~is_judged).head(max(MOST_PASSAGES - judged["passage_hash"].n_unique(), 0))
    return pl.concat([passages.filter(is_judged), others]).sort("hash")
