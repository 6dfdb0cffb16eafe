"""What becomes of every retrieved passage: outside the ranks, filtered, picked or not."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from tasks.mine.settings import Mining

OUTSIDE, LEFT, KEPT, WIDENED = "outside the ranks", "not picked", "kept", "widened"
SHORT = "query dropped"
FATES = (OUTSIDE, "below the floor", "at the ceiling", "above perc_pos", "above margin_pos", LEFT, SHORT, KEPT, WIDENED)


def settle(lists: pl.DataFrame, settings: Mining, hashes: Mapping[int, int], number: int = 0) -> pl.DataFrame:
    """Add `fate` to every row of one miner's lists.

    Ranks are as they came, so a filter moves no window. Where several filters would take a passage out, the first in
    the order of FATES is named. A query without a positive has nothing for perc_pos and margin_pos to compare with,
    and passes them.

    Args:
        lists: `query_row, passage_row, rank, similarity, lowest_positive`, by query and rank.
        settings: Window, filters and picks.
        hashes: Hash of each query row, which its draw depends on beside the seed.
        number: Which of several miners' lists these are; each has draws of its own.
    """
    inside = pl.col("rank").is_between(settings.first_rank, settings.last_rank)
    judged = lists.sort("query_row", "rank").with_columns(_filtered=_filtered(settings), _inside=inside)
    candidates = judged.filter(pl.col("_inside") & pl.col("_filtered").is_null())
    picked = candidates.filter(_picked(candidates, settings, hashes, number)).select("query_row", "passage_row")
    fate = (
        pl.when(pl.col("_picked"))
        .then(pl.lit(KEPT))
        .when(~pl.col("_inside"))
        .then(pl.lit(OUTSIDE))
        .otherwise(pl.coalesce("_filtered", pl.lit(LEFT)))
    )
    marked = judged.join(
        picked.with_columns(_picked=True), on=["query_row", "passage_row"], how="left", maintain_order="left"
    ).with_columns(pl.col("_picked").fill_null(False))
    settled = marked.with_columns(fate=fate)
    if settings.too_few == "widen":
        settled = _widened(settled, settings)
    return settled.drop("_filtered", "_inside", "_picked")


def dropped(settled: pl.DataFrame, enough: pl.DataFrame) -> pl.DataFrame:
    """Give what is kept the fate of its query, where that is not among the `query_row` that have enough."""
    short = ~pl.col("query_row").is_in(enough["query_row"].implode()) & (pl.col("fate") == KEPT)
    return settled.with_columns(fate=pl.when(short).then(pl.lit(SHORT)).otherwise(pl.col("fate")))


def _filtered(settings: Mining) -> pl.Expr:
    """The first filter that takes a row out, by name; null where none does."""
    similarity, anchor = pl.col("similarity"), pl.col("lowest_positive")
    rules = {
        "below the floor": similarity < settings.floor if settings.floor is not None else None,
        "at the ceiling": similarity >= settings.ceiling if settings.ceiling is not None else None,
        # |pos|: of a negative similarity, 95 % is above it, and the filter would let through what it should stop
        "above perc_pos": similarity > anchor - anchor.abs() * (1 - settings.perc_pos) if settings.perc_pos else None,
        "above margin_pos": similarity > anchor - settings.margin_pos if settings.margin_pos is not None else None,
    }
    named = [pl.when(rule).then(pl.lit(name)) for name, rule in rules.items() if rule is not None]
    return pl.coalesce(*named, pl.lit(None, pl.String))


def _picked(candidates: pl.DataFrame, settings: Mining, hashes: Mapping[int, int], number: int) -> pl.Series:
    """Which of the candidates, by query and rank, are picked: those with the greatest keys."""
    if settings.count is None:
        return pl.Series([True] * candidates.height, dtype=pl.Boolean)
    keys = pl.Series("key", _keys(candidates, settings, hashes, number))
    place = pl.struct(-pl.col("key"), "rank").rank("ordinal").over("query_row")
    return candidates.with_columns(keys).select(picked=place <= settings.count)["picked"]


def _keys(
    candidates: pl.DataFrame, settings: Mining, hashes: Mapping[int, int], number: int
) -> npt.NDArray[np.float64]:
    """Keys whose greatest are a picker's picks.

    Log-weight plus Gumbel noise: taking the greatest is drawing without replacement by weight (Efraimidis and
    Spirakis 2006). A query's noise depends on the seed, the miner's number and the query alone.
    """
    ranks = candidates["rank"].cast(pl.Float64).to_numpy()
    if settings.picker == "top":
        return -ranks
    lengths = candidates.group_by("query_row", maintain_order=True).len()
    noise = [
        np.random.default_rng([settings.seed, number, hashes[row] % 2**64]).gumbel(size=length)
        for row, length in lengths.iter_rows()
    ]
    keys: npt.NDArray[np.float64] = np.concatenate([np.empty(0), *noise])
    if settings.picker == "log-rank":
        keys = keys - np.log(np.log2(1 + ranks))
    if settings.picker == "top-and-random":
        place = candidates.select(place=pl.int_range(pl.len()).over("query_row"))["place"].to_numpy()
        keys = np.where(place < ((settings.count or 0) + 1) // 2, np.inf, keys)
    return keys


def _widened(settled: pl.DataFrame, settings: Mining) -> pl.DataFrame:
    """Take ranks below the window, in their order, until a query has `count`."""
    spare = (pl.col("rank") > settings.last_rank) & pl.col("_filtered").is_null()
    missing = pl.lit(settings.count) - (pl.col("fate") == KEPT).sum().over("query_row")
    taken = spare & (spare.cast(pl.Int64).cum_sum().over("query_row") <= missing)
    return settled.with_columns(fate=pl.when(taken).then(pl.lit(WIDENED)).otherwise(pl.col("fate")))
