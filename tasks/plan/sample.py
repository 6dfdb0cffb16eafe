"""A small, random part of a corpus to try a machine on: texts, pairs and lists as training draws them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.plan.data import Data

if TYPE_CHECKING:
    from models.lists import TrainingLists
    from models.student import Student
    from models.teaching import TeachingLists

MOST = 4096  # texts of each kind

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """Random texts of a corpus.

    Attributes:
        passages: Random passages, in random order.
        queries: Random queries, in random order.
        asked: Train queries with a positive.
        shown: Passages that lists are made of.
        positives: Rows among `shown`, for each of `asked`.
        others: Rows among `shown` of passages that aren't labelled for it, for each of `asked`.
    """

    passages: list[str]
    queries: list[str]
    asked: list[str]
    shown: list[str]
    positives: list[Rows]
    others: list[Rows]

    @classmethod
    def draw(cls, data: Data, lists: int, others: int) -> Self:
        """Draw a part of a corpus, the same every time.

        Args:
            data: The corpus.
            lists: Train queries, if there are as many.
            others: Passages beside the positives of each.
        """
        some = _shuffled(data.passages)
        labels = data.labels.filter((pl.col("split") == "train") & (pl.col("grade") > 0))
        labelled = labels.group_by("query_hash", maintain_order=True).agg("passage_hash").rename({"query_hash": "hash"})
        asked = data.queries.join(labelled, on="hash", how="inner").sample(fraction=1.0, shuffle=True, seed=0)
        asked = asked.head(lists)
        wanted = asked["passage_hash"].explode()
        shown = pl.concat([data.passages.filter(pl.col("hash").is_in(wanted.implode())), some]).unique(
            "hash", keep="first", maintain_order=True
        )
        rows = {name: row for row, name in enumerate(shown["hash"])}
        positives = [np.asarray([rows[name] for name in names], np.int64) for names in asked["passage_hash"]]
        drawing = np.random.default_rng(0)
        beside = [
            np.setdiff1d(drawing.choice(len(shown), min(others, len(shown)), replace=False), own) for own in positives
        ]
        return cls(
            passages=some["text"].to_list(),
            queries=_shuffled(data.queries)["text"].to_list(),
            asked=asked["text"].to_list(),
            shown=shown["text"].to_list(),
            positives=positives,
            others=beside,
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Random queries with random passages."""
        passages = self.passages * -(-MOST // len(self.passages))
        queries = self.queries * -(-MOST // len(self.queries))
        return list(zip(queries[:MOST], passages[:MOST], strict=True))

    def teaching_lists(self) -> "TeachingLists":
        """Lists as a teacher learns from them; the others stand for hard negatives."""
        from models.teaching import TeachingLists

        return TeachingLists(self.asked, self.shown, self.positives, self.others)

    def training_lists(self, student: "Student") -> "TrainingLists":
        """Lists as a student learns from them, with made-up logits."""
        from models.lists import Judged, Role, TrainingLists, pair_keys

        own = np.concatenate(self.positives)
        rows = np.repeat(np.arange(len(self.asked)), [len(each) for each in self.positives])
        beside = np.concatenate(self.others)
        other_rows = np.repeat(np.arange(len(self.asked)), [len(each) for each in self.others])
        roles = np.repeat([Role.POSITIVE, Role.NEGATIVE], [len(own), len(beside)]).astype(np.int8)
        targets = np.random.default_rng(0).normal(np.where(roles == Role.POSITIVE, 2.0, -2.0)).astype(np.float32)
        judged = Judged(np.concatenate([rows, other_rows]), np.concatenate([own, beside]), roles, targets)
        tokens = (student.tokenize_queries(self.asked), student.tokenize_passages(self.shown))
        return TrainingLists.build(judged, *tokens, pair_keys(rows, own, len(self.shown)))


def _shuffled(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sample(min(MOST, frame.height), shuffle=True, seed=0)
