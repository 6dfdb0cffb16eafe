"""How much a training of a student will compute, before there is anything to train on."""

from collections.abc import Mapping

import polars as pl

from tasks.evaluate.halves import select
from tasks.evaluate.measures import judged_queries
from tasks.train.dev import looked_at


def look_amount(passages: pl.DataFrame, labels: pl.DataFrame) -> Mapping[str, int]:
    """Texts that one look at dev encodes: `passages` and `queries`."""
    judged = select(judged_queries(labels, "dev"))
    return {"passages": looked_at(passages, judged).height, "queries": judged["query_hash"].n_unique()}
