"""Choosing what people look at: the doubtful candidates, and a few certain ones as a check."""

import math
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tasks.record import warehouse_of
from tasks.replacing import check_place
from tasks.review.table import write_table
from tasks.where import Where
from warehouse.reviews import last_denoised, review_queue


@dataclass(frozen=True)
class Wanted:
    """What to export.

    Attributes:
        run: Number of the run; None: the last that was denoised.
        number: The round; None: the last one.
        limit: Doubtful candidates at most, the least certain first; 0: all.
        certain_share: How many certain candidates there are for each doubtful one.
        seed: Seed of the draw of certain ones, and of the order of rows.
        band: Probabilities between which a candidate is doubtful; None: those with the verdict `ambiguous`.
        with_verdicts: What student and teacher think is shown; else people judge blind.
    """

    run: int | None = None
    number: int | None = None
    limit: int = 0
    certain_share: float = 0.1
    seed: int = 0
    band: tuple[float, float] | None = None
    with_verdicts: bool = False


@dataclass(frozen=True)
class Queue:
    """What was exported: run, round, and how many candidates of each kind."""

    run: int
    number: int
    doubtful: int
    certain: int


def export_queue(where: Where, wanted: Wanted, path: Path) -> Queue:
    """Write the review queue of a round as CSV.

    Raises:
        LookupError: There is no such round, or nothing to look at.
        FileExistsError: The file is there; answers in it would be lost.
        OSError: Nothing can be written there.
    """
    check_place(path)
    if path.exists():
        raise FileExistsError(f"{path} is there already, and somebody's answers may be in it; name another file")
    warehouse = warehouse_of(where)
    found = last_denoised(warehouse, wanted.run)
    if found is None:
        which = "no run has" if wanted.run is None else f"run {wanted.run} does not exist or has not"
        raise LookupError(f"{where.warehouse_path}: {which} come as far as denoising; `remine runs` lists the runs")
    run, number = found[0], wanted.number or found[1]
    if number > found[1]:
        raise LookupError(f"run {run} has no verdicts of round {number}; its last round that has is {found[1]}")
    doubtful, certain = choose(review_queue(warehouse, run, number), wanted)
    if not doubtful.height:
        raise LookupError(
            f"run {run}, round {number}: no candidate is in doubt that nobody has labelled yet; the policies keep and "
            "soften call none ambiguous: say with --band 0.3 0.7 which probabilities are doubtful"
        )
    write_table(path, mixed(doubtful, certain, wanted.seed), wanted.with_verdicts)
    return Queue(run, number, doubtful.height, certain.height)


def mixed(doubtful: pl.DataFrame, certain: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Put all rows in an order drawn at random, the rows of a query together, so that it is read once.

    Certain ones stand among the others: told apart, they would be answered otherwise.
    """
    rows = pl.concat([doubtful, certain]).sort("query_hash", "passage_hash").sample(fraction=1, shuffle=True, seed=seed)
    order = rows.select("query_hash").unique(maintain_order=True).with_row_index("turn")
    return rows.join(order, on="query_hash", maintain_order="left").sort("turn", maintain_order=True).drop("turn")


def choose(queue: pl.DataFrame, wanted: Wanted) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The doubtful candidates, the least certain first, and a seeded draw of the certain ones.

    Args:
        queue: Candidates with `probability` and `verdict`, the least certain first.
        wanted: Limits, share and seed.

    Raises:
        ValueError: The band is not a range of probabilities.
    """
    in_doubt = pl.col("verdict") == "ambiguous"
    if wanted.band is not None:
        low, high = wanted.band
        if not 0 <= low < high <= 1:
            raise ValueError(f"--band {low} {high}: needed two probabilities, the lower one first, such as 0.3 0.7")
        in_doubt = pl.col("probability").is_between(low, high).fill_null(False)
    doubtful = queue.filter(in_doubt)
    doubtful = doubtful.head(wanted.limit) if wanted.limit else doubtful
    others = queue.filter(~in_doubt & (pl.col("verdict") != "ambiguous")).sort("query_hash", "passage_hash")
    count = min(math.ceil(doubtful.height * wanted.certain_share), others.height)
    return doubtful, others.sample(count, seed=wanted.seed, shuffle=True)
