"""Labels of passages that a corpus had once and has no longer: retired and counted, not refused."""

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from tasks.ingest.collection import Collection
from tasks.ingest.wording import counted

Once = Callable[[pl.Series], pl.Series]


def retire(collection: Collection, had: Once) -> tuple[Collection, int]:
    """Leave out labels of removed passages.

    A label of a passage that the corpus never had stays, and is refused by the checks: its id is a slip.

    Args:
        collection: What was read.
        had: Of these passage ids, those that the corpus has had at any time.

    Returns:
        The collection without them, and how many labels left.
    """
    judged = collection.judgements
    gone = judged.join(collection.passages, left_on="passage_id", right_on="external_id", how="anti")
    if not gone.height:
        return collection, 0
    removed = had(gone["passage_id"].unique())
    left = judged.filter(~pl.col("passage_id").is_in(removed.implode()))
    count = judged.height - left.height
    if not count:
        return collection, 0
    note = f"{counted(count, 'label')} of {counted(removed.len(), 'passage')} that the corpus no longer has: retired"
    return replace(collection, judgements=left, notes=(*collection.notes, note)), count
