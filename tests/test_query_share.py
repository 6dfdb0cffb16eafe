"""A share of the train queries is mined: always the same ones, and as many as were planned."""

import polars as pl
import pytest

from tasks.mine.amount import mined_amount
from tasks.mine.excluded import train_queries
from tasks.mine.settings import Mining

QUERIES = pl.DataFrame(
    {"hash": range(-5, 5), "text": [f"query {number}" for number in range(10)], "split": ["train"] * 9 + ["dev"]}
)
LABELS = pl.DataFrame({"query_hash": range(-5, 5), "passage_hash": range(10), "grade": [1] * 10, "split": "train"})
PASSAGES = pl.DataFrame({"hash": range(30), "text": [f"passage {number}" for number in range(30)]})


@pytest.mark.parametrize(("share", "count"), [(1.0, 8), (0.5, 4), (0.51, 5), (0.001, 1)])
def test_the_queries_with_the_smallest_hashes_are_mined_in_row_order(share: float, count: int) -> None:
    labels = LABELS.filter(pl.col("query_hash") < 3)  # one train query has no positive
    shuffled = QUERIES.sample(fraction=1.0, shuffle=True, seed=1)
    found = train_queries(shuffled, labels, share)
    assert sorted(found["hash"]) == list(range(-5, -5 + count))
    assert found["row"].is_sorted() and shuffled["hash"].gather(found["row"]).to_list() == found["hash"].to_list()


def test_a_plan_counts_the_share() -> None:
    labels = LABELS.filter(pl.col("query_hash") < 3)
    amount = mined_amount(PASSAGES, QUERIES, labels, Mining(depth=5, last_rank=5, query_share=0.5))
    assert (amount.queries, amount.candidates, amount.positives) == (4, 20, 4)
