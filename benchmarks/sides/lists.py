"""Lists of a BEIR folder as our training and as others take them: the same queries, passages and logits."""

import json
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.lists import Judged, Role, TrainingLists, pair_keys
from models.student import Student


@dataclass(frozen=True)
class TextLists:
    """Queries with one labelled passage and others drawn at random; logits are made up, the positive's the highest.

    Attributes:
        queries: N texts.
        passages: Distinct texts.
        rows: Passages of each list, the labelled one first, (N, length).
        logits: Of each, (N, length).
    """

    queries: list[str]
    passages: list[str]
    rows: np.ndarray
    logits: np.ndarray

    @classmethod
    def read(cls, folder: Path, count: int, length: int) -> "TextLists":
        """Draw lists with a fixed seed from all labels of a folder.

        Raises:
            ValueError: There are fewer labelled queries than asked for.
        """
        texts = {row["_id"]: row["text"] for row in _rows(folder / "queries.jsonl")}
        corpus = list(_rows(folder / "corpus.jsonl"))
        places = {row["_id"]: place for place, row in enumerate(corpus)}
        labelled = {}
        for file in sorted((folder / "qrels").glob("*.tsv")):
            for line in file.read_text("utf-8").splitlines()[1:]:
                query, passage, grade = line.split("\t")
                if int(grade) > 0:
                    labelled.setdefault(query, places[passage])
        if len(labelled) < count:
            raise ValueError(f"{folder}: {len(labelled)} labelled queries; a batch needs {count} different ones")
        drawing = np.random.default_rng(0)
        chosen = [sorted(labelled)[place] for place in drawing.permutation(len(labelled))[:count]]
        turns = -(-count * length // len(corpus))  # a passage comes again only where all others have come
        rows = np.concatenate([drawing.permutation(len(corpus)) for _ in range(turns)])
        rows = rows[: count * length].reshape(count, length)
        rows[:, 0] = [labelled[query] for query in chosen]
        logits = drawing.normal(-2, 2, (count, length)).astype(np.float32)
        logits[:, 0] = 5.0
        shown = [f"{row.get('title', '')} {row['text']}".strip() for row in corpus]
        return cls([texts[query] for query in chosen], shown, rows, logits)

    def for_us(self, student: Student) -> TrainingLists:
        """The same as arrays of tokens; a passage drawn twice for a query is there once."""
        count, length = self.rows.shape
        keys = np.repeat(np.arange(count), length) * len(self.passages) + self.rows.ravel()
        _, first = np.unique(keys, return_index=True)
        first = np.sort(first)
        queries, passages = np.divmod(keys[first], len(self.passages))
        roles = np.where(first % length == 0, Role.POSITIVE, Role.NEGATIVE).astype(np.int8)
        positive = roles == Role.POSITIVE
        return TrainingLists.build(
            Judged(queries, passages, roles, self.logits.ravel()[first]),
            student.tokenize_queries(self.queries),
            student.tokenize_passages(self.passages),
            pair_keys(queries[positive], passages[positive], len(self.passages)),
        )


def peak_bytes() -> int:
    """The most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
