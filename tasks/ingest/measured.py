"""Sets that are measured on alone: which of their labels, under one split."""

from dataclasses import replace

import polars as pl

from tasks.ingest.collection import Collection
from tasks.ingest.complaints import CorpusError
from tasks.ingest.settings import MeasuredSource

LOOKED_FOR = ("test", "dev")


def measured_alone(collection: Collection, source: MeasuredSource) -> Collection:
    """Keep the labels that are measured by, all as the split that they become.

    Raises:
        CorpusError: The split that is asked for has no label with a grade above 0.
    """
    rows = collection.judgements
    positive = set(rows.filter(pl.col("grade") > 0)["split"].replace("", "train").to_list())
    first = [split for split in LOOKED_FOR if split in positive]
    chosen: str = source.labels or (first[0] if first else "")
    if not positive or (chosen and chosen not in positive):
        there = ", ".join(sorted(positive)) or "none"
        raise CorpusError(
            f"{source.path}: no label of {chosen or 'any split'} has a grade above 0 (there are some of: {there}), so "
            "there is nothing to measure by"
        )
    kept = rows.filter(pl.col("split").replace("", "train") == chosen) if chosen else rows
    note = f"measured by the labels of {chosen or 'every split'}"
    return replace(
        collection,
        judgements=kept.with_columns(split=pl.lit(source.as_split)),
        notes=(*collection.notes, note),
    )
