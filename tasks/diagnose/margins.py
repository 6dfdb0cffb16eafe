"""How far a student holds negatives away from positives: the margin of every negative, as a histogram."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tasks.diagnose.findings import Finding

BARS = 20


@dataclass(frozen=True)
class Margins:
    """Similarity of a query's best positive minus that of each of its negatives.

    Attributes:
        findings: What is told of them; nothing where there are none.
        histogram: `edges` of 20 bars and the `shares` of negatives in them; empty where there are none.
    """

    findings: list[Finding]
    histogram: dict[str, list[float]]


def margins_of(pairs: pl.DataFrame) -> Margins:
    """Measure the margins of train queries.

    Args:
        pairs: `query_hash, verdict, similarity` of positives and negatives; negatives of a query without a positive
            have no margin.
    """
    best = pairs.filter(pl.col("verdict") == "positive").group_by("query_hash").agg(best=pl.col("similarity").max())
    joined = pairs.filter(pl.col("verdict") == "negative").join(best, on="query_hash")
    margins = (joined["best"] - joined["similarity"]).to_numpy().astype(np.float64)
    if not len(margins):
        return Margins([], {})
    counts, edges = np.histogram(margins, bins=BARS)
    below = float((margins < 0).mean())
    told = [
        Finding(
            "margin", float(np.median(margins)), "Similarity of the positive minus that of a negative, the median."
        ),
        Finding(
            "negatives above their positive",
            below,
            "A share. Above 0.3 the student finds many negatives before what is right: it has not learned its lists.",
            below > 0.3,
        ),
    ]
    shares = (counts / len(margins)).round(6).tolist()
    return Margins(told, {"edges": edges.round(6).tolist(), "shares": shares})
