"""Choosing what people look at: the doubtful candidates, and a few certain ones as a check."""

import math
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tasks.record import warehouse_of
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
        seed: Seed of the draw of certain ones.
        band: Probabilities between which a candidate is doubtful; None: those with the verdict `ambiguous`.
    """

    run: int | None = None
    number: int | None = None
    limit: int = 0
    certain_share: float = 0.1
    seed: int = 0
    band: tuple[float, float] | None = None


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
        FileExistsError: The file is there.
    """
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
    # Certain ones stand among the others: answers at the end of a long table are worse, and would be theirs alone.
    mixed = pl.concat([doubtful, certain]).sort("query_hash", "passage_hash")
    write_table(path, mixed)
    return Queue(run, number, doubtful.height, certain.height)


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
