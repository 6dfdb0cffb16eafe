"""Filters, picks and widening do what their formula says, move no rank, and count what they took."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from tasks.mine.retrieve import Retriever, fuse_miners, retrieve, unite
from tasks.mine.settings import Index, Mining
from tasks.mine.window import settle

HASHES = {row: 1000 + row for row in range(500)}


def listed(similarities: list[float], query: int = 0, lowest: float | None = None) -> pl.DataFrame:
    count = len(similarities)
    return pl.DataFrame(
        {
            "query_row": pl.Series([query] * count, dtype=pl.Int64),
            "passage_row": pl.Series(range(count), dtype=pl.Int64),
            "rank": pl.Series(range(1, count + 1), dtype=pl.Int32),
            "similarity": pl.Series(similarities, dtype=pl.Float32),
            "lowest_positive": pl.Series([lowest] * count, dtype=pl.Float32),
        }
    )


def fates(similarities: list[float], lowest: float | None = None, **settings: Any) -> list[str]:
    given = {"depth": 10, "last_rank": 10, **settings}
    return settle(listed(similarities, lowest=lowest), Mining(**given), HASHES)["fate"].to_list()


def kept_ranks(frame: pl.DataFrame) -> list[int]:
    return frame.filter(pl.col("fate").is_in(["kept", "widened"]))["rank"].to_list()


def test_a_ceiling_is_strict_and_a_floor_is_not() -> None:
    """`neg < threshold`: at 0.75 itself, a candidate is as similar as what the ceiling is there to stop."""
    assert fates([0.875, 0.75, 0.5, 0.25, 0.125], ceiling=0.75, floor=0.25) == [
        "at the ceiling", "at the ceiling", "kept", "kept", "below the floor",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lowest", "passes", "stopped"), [(0.8, 0.759, 0.761), (-0.4, -0.421, -0.419), (0.0, 0.0, 0.001)]
)
def test_perc_pos_is_relative_to_the_size_of_the_lowest_positive(lowest: float, passes: float, stopped: float) -> None:
    """Pitfall 10: `pos * 0.95` of a negative similarity is above it, and lets through what it should stop."""
    assert fates([stopped, passes], lowest, perc_pos=0.95) == ["above perc_pos", "kept"]


@pytest.mark.parametrize("lowest", [0.75, -0.25])
def test_margin_pos_is_a_difference(lowest: float) -> None:
    assert fates([lowest - 0.0624, lowest - 0.0625], lowest, margin_pos=0.0625) == ["above margin_pos", "kept"]


def test_a_query_without_a_positive_passes_the_filters_that_compare_with_one() -> None:
    assert fates([0.9, 0.1], None, perc_pos=0.95, margin_pos=0.05) == ["kept", "kept"]


def test_filters_move_no_rank() -> None:
    """Pitfall 18: windows counted after filtering, so that “3–5” silently means something else."""
    found = fates([0.9, 0.9, 0.9, 0.3, 0.2, 0.1], ceiling=0.5, first_rank=3, last_rank=5)
    assert found == ["outside the ranks"] * 2 + ["at the ceiling", "kept", "kept", "outside the ranks"]


def test_too_few_survivors_stay_too_few() -> None:
    """Pitfall 19: filtered candidates handed back where too few survive."""
    assert fates([0.9, 0.9, 0.9, 0.1], ceiling=0.5, count=3) == ["at the ceiling"] * 3 + ["kept"]


def test_widening_takes_the_next_ranks_that_pass_the_filters_and_no_more_than_are_missing() -> None:
    similarities = [0.9, 0.4, 0.9, 0.8, 0.3, 0.2, 0.1]
    settings = {"ceiling": 0.5, "first_rank": 2, "last_rank": 4, "depth": 7, "count": 3, "too_few": "widen"}
    assert fates(similarities, **settings) == [
        "outside the ranks", "kept", "at the ceiling", "at the ceiling", "widened", "widened", "outside the ranks",
    ]  # fmt: skip


def test_top_picks_by_rank() -> None:
    assert fates([0.5] * 4, count=2) == ["kept", "kept", "not picked", "not picked"]


def many(queries: int, length: int) -> pl.DataFrame:
    return pl.concat([listed([0.5] * length, query) for query in range(queries)])


@pytest.mark.parametrize("picker", ["random", "log-rank", "top-and-random"])
def test_picks_are_the_same_every_time_and_others_with_another_seed(picker: str) -> None:
    """Pitfall 20: other negatives in every run; and a query's draw that depends on who else is mined."""
    frame = many(40, 20)
    ones = Mining(depth=20, last_rank=20, count=5, picker=picker)  # type: ignore[arg-type]
    first, again = settle(frame, ones, HASHES), settle(frame.reverse(), ones, HASHES)
    assert first.equals(again)
    alone = settle(frame.filter(pl.col("query_row") == 7), ones, HASHES)
    assert alone.equals(first.filter(pl.col("query_row") == 7))
    assert set(first.filter(pl.col("fate") == "kept").group_by("query_row").len()["len"]) == {5}
    other = settle(frame, ones.model_copy(update={"seed": 1}), HASHES)
    assert kept_ranks(other) != kept_ranks(first)
    assert kept_ranks(settle(frame, ones, HASHES, number=1)) != kept_ranks(first)


def shares(picker: str, count: int) -> np.ndarray:
    """How often each of 8 ranks is picked for 500 queries."""
    settings = Mining(depth=8, last_rank=8, count=count, picker=picker)  # type: ignore[arg-type]
    ranks = kept_ranks(settle(many(500, 8), settings, HASHES))
    return np.bincount(ranks, minlength=9)[1:] / 500


def test_random_picks_every_rank_alike() -> None:
    assert np.abs(shares("random", 2) - 0.25).max() < 0.08  # four deviations


def test_log_rank_picks_by_one_over_log_of_rank() -> None:
    """One draw has exactly the weights of the formula."""
    weights = 1 / np.log2(1 + np.arange(1, 9))
    assert np.abs(shares("log-rank", 1) - weights / weights.sum()).max() < 0.08


def test_top_and_random_takes_the_larger_half_from_the_top() -> None:
    found = shares("top-and-random", 3)
    assert found[:2].tolist() == [1.0, 1.0]
    assert np.abs(found[2:] - 1 / 6).max() < 0.08


def answers(lists: dict[int, list[int]]) -> Retriever:
    """A miner with given lists; equal lengths, -1 where it has nothing more."""

    def ask(rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        found = np.array([(lists[int(row)] + [-1] * k)[:k] for row in rows], np.int64)
        return -np.arange(k, dtype=np.float32)[None].repeat(len(rows), 0), found

    return Retriever("warm", ask)


def test_who_loses_too_much_is_asked_again_for_more() -> None:
    """Pitfall 17: fewer hits than asked, because what was taken out stood where candidates should."""
    lists = {0: list(range(100)), 1: list(range(100))}
    asked: list[tuple[int, int]] = []
    whole = answers(lists)

    def ask(rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        asked.append((len(rows), k))
        return whole.ask(rows, k)

    def drop(found: pl.DataFrame) -> pl.DataFrame:
        return found.filter((pl.col("query_row") == 1) | (pl.col("passage_row") >= 40))

    found = retrieve(Retriever("warm", ask), np.array([0, 1]), drop, 10)
    assert asked == [(2, 26), (1, 52)]
    assert found.filter(pl.col("query_row") == 0)["passage_row"].to_list() == list(range(40, 50))
    assert found["rank"].to_list() == [*range(1, 11), *range(1, 11)]


def test_who_has_nothing_more_is_not_asked_again() -> None:
    """An index that gives -1 has no more to give: asking on would never end."""
    found = retrieve(answers({0: [3, 1]}), np.array([0]), lambda lists: lists, 10)
    assert found.select("passage_row", "rank", "miner").rows() == [(3, 1, "warm"), (1, 2, "warm")]


def two_lists() -> list[pl.DataFrame]:
    rows = {"warm": [(0, 5, 1), (0, 6, 2), (0, 7, 3)], "bm25": [(0, 7, 1), (0, 8, 2), (0, 5, 3)]}
    schema = {"query_row": pl.Int64, "passage_row": pl.Int64, "rank": pl.Int32}
    return [
        pl.DataFrame(found, schema=schema, orient="row").with_columns(
            miner=pl.lit(name), similarity=pl.lit(0.5, pl.Float32)
        )
        for name, found in rows.items()
    ]


def test_fusion_adds_reciprocal_ranks_and_names_who_found_it() -> None:
    """Worked by hand: 5 and 7 have 1/61 + 1/63 each, a tie for the lower row; then 6 and 8 with 1/62."""
    fused = fuse_miners(two_lists(), 60.0, 3)
    assert fused.select("passage_row", "rank", "miner").rows() == [
        (5, 1, "warm+bm25"),
        (7, 2, "warm+bm25"),
        (6, 3, "warm"),
    ]
    assert fused["score"][0] == pytest.approx(1 / 61 + 1 / 63)


def test_union_keeps_the_best_rank_and_names_all_who_kept_it() -> None:
    """Pitfall 16: the same passage twice in a list."""
    united = unite(pl.concat(two_lists()))
    assert united.select("passage_row", "rank", "miner").rows() == [
        (5, 1, "warm+bm25"), (7, 1, "warm+bm25"), (6, 2, "warm"), (8, 2, "bm25"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"floor": 0.5, "ceiling": 0.5}, "floor 0.5 is not below ceiling 0.5"),
        ({"picker": "random"}, "picker 'random' needs a count"),
        ({"count": 9, "last_rank": 8}, "9 candidates can't be picked from ranks 1–8"),
        ({"count": 5, "too_few": "widen"}, "depth .now 100. beyond the last rank .now 100."),
        ({"miners": ["bm25", "bm25"]}, "each is asked once"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Mining(**settings)


def test_more_probes_than_clusters_are_refused() -> None:
    with pytest.raises(ValidationError, match="64 probes of 16 clusters"):
        Index(kind="ivf", clusters=16, probes=64)


@pytest.mark.parametrize("name", ["building", "looking"])
def test_a_number_beyond_what_the_graph_holds_is_refused_before_anything_is_trained(name: str) -> None:
    with pytest.raises(ValidationError, match=f"{name}\n.*2147483647"):
        Index.model_validate({"kind": "hnsw", name: 2**31})
    assert getattr(Index.model_validate({"kind": "hnsw", name: 2**31 - 1}), name) == 2**31 - 1
