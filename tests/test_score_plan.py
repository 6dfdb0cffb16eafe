"""Pending pairs are cut into even shards of like length, the same in every run."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from scoring_bench import KEYS

from tasks.score.plan import cut, with_length
from tasks.score.settings import Scoring


def sized(lengths: Sequence[int]) -> pl.DataFrame:
    numbers = range(len(lengths))
    return pl.DataFrame({"query_hash": list(numbers), "passage_hash": list(numbers), "length": list(lengths)})


def test_shards_hold_like_lengths_and_about_equal_tokens() -> None:
    drawing = np.random.default_rng(0)
    pending = sized(drawing.integers(10, 300, 2000).tolist())
    plan = cut(pending, Scoring(shard_tokens=30_000, least_shards=2))
    count = -(-int(pending["length"].sum()) // 30_000)
    length = pl.col("length")
    shards = plan.group_by("shard", maintain_order=True)
    per_shard = shards.agg(length.sum(), low=length.min(), high=length.max())
    assert per_shard["shard"].to_list() == list(range(count))
    assert per_shard["length"].max() < 30_000 + 300
    assert (per_shard["low"][:-1] >= per_shard["high"][1:]).all()
    assert plan.sort(KEYS).select(KEYS).equals(pending.select(KEYS))


@pytest.mark.parametrize(("pairs", "shards"), [(1, 1), (3, 3), (4, 4), (50, 4)])
def test_little_work_is_still_cut_so_that_a_kill_loses_little(pairs: int, shards: int) -> None:
    assert cut(sized([20] * pairs), Scoring())["shard"].unique().to_list() == list(range(shards))


def test_a_plan_does_not_depend_on_the_order_of_its_pairs() -> None:
    """Pitfall 20: other batches in every run, and other last digits of the logits."""
    pending = sized(np.random.default_rng(1).integers(10, 40, 300).tolist())
    shuffled = pending.sample(fraction=1.0, shuffle=True, seed=3)
    assert cut(pending, Scoring()).equals(cut(shuffled, Scoring()))


def test_lengths_come_from_both_texts() -> None:
    passages = pl.DataFrame({"hash": [1, 2], "text": ["a" * 40, "ß" * 4000]})
    queries = pl.DataFrame({"hash": [7], "text": ["b" * 20]})
    pairs = pl.DataFrame({"query_hash": [7, 7], "passage_hash": [1, 2]})
    assert with_length(pairs, passages, queries)["length"].to_list() == [60 // 4 + 3, 512]
