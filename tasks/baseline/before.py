"""What can be known before a student is trained: too few labels, too few queries, nothing left to gain."""

import polars as pl

from tasks.artifacts import Artifact

FEW_PAIRS = 1_000
FEW_QUERIES = 100
CEILING = 0.9
SHOWN = 0.0005  # what is smaller would be shown as 0.000
# A paired difference is found with 80 % power by a two-sided test at 5 % from (1.96 + 0.84) standard errors on.
DETECTED = 2.8


def before_tuning(corpus: Artifact, base: pl.DataFrame, hybrid: pl.DataFrame, measure: str = "nDCG@10") -> list[str]:
    """Warn of what makes fine-tuning a gamble, a sentence each, with what it means.

    Args:
        corpus: The labels.
        base: `system, split, query_hash, measure, value` of the base.
        hybrid: The same of hybrid.
        measure: What is looked at on dev.
    """
    labels = pl.read_parquet(corpus.file("labels.parquet"), columns=["split", "grade"])
    pairs = labels.filter((pl.col("split") == "train") & (pl.col("grade") > 0)).height
    old, new = (_dev(frame, measure) for frame in (base, hybrid))
    found = []
    if pairs < FEW_PAIRS:
        found.append(
            f"{pairs:,} labelled training pairs, fewer than {FEW_PAIRS:,}: a student learns them by heart before it "
            "learns the task; a ready-made teacher or more labels help more than more steps"
        )
    if len(old) < FEW_QUERIES:
        found.append(f"{len(old)} dev queries, fewer than {FEW_QUERIES}: {_unseen(old, new, measure)}")
    mean = float(old.to_numpy().mean())
    if mean >= CEILING:
        left = (
            f"at most {1 - mean:.3f} is left to gain, and much of that may be gaps in the labels"
            if 1 - mean >= SHOWN
            else "nothing is left to gain, so no student can be seen to be better"
        )
        found.append(f"the base has {measure} {mean:.3f} on dev: {left}")
    return found


def _unseen(first: pl.Series, second: pl.Series, measure: str) -> str:
    """Which changes so few queries cannot show; systems that agree on every query don't say how large they are."""
    least = detectable(first, second)
    if least < SHOWN:
        return f"small gains and losses of {measure} can't be told from luck"
    return (
        f"{measure} would have to change by about {least:.3f} to be told from luck, so a smaller gain or loss "
        "stays unseen"
    )


def detectable(first: pl.Series, second: pl.Series) -> float:
    """The smallest difference of means that a paired test at 5 % finds four times in five, with as many queries.

    Estimated from how two systems differ query by query; nothing is known from one query, which gives 1.
    """
    spread = (second - first).std()
    return 1.0 if spread is None else DETECTED * float(spread) / len(first) ** 0.5  # type: ignore[arg-type]


def _dev(frame: pl.DataFrame, measure: str) -> pl.Series:
    rows = frame.filter((pl.col("split") == "dev") & (pl.col("measure") == measure))
    return rows.sort("query_hash")["value"]
