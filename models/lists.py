"""What a training run draws from: arrays of lists, and batches drawn afresh from them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from dataclasses import field as dataclass_field
from enum import IntEnum
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from models.drawing import Draw, Floats, Rows, choose, shuffled

Flags = NDArray[np.bool_]
Tokens = Sequence[Sequence[int]]


class Role(IntEnum):
    """What a candidate may be used for."""

    NEGATIVE = 0  # in every term
    POSITIVE = 1  # in every term
    SOFT = 2  # only in terms that read the teacher: the teacher approves it, or cannot say


class Judged(NamedTuple):
    """Candidates of many queries, one row per (query, passage)."""

    queries: Rows  # query rows
    passages: Rows  # passage rows
    roles: NDArray[np.int8]  # `Role` of each
    targets: Floats  # the teacher's logits; NaN where there is none


@dataclass(frozen=True)
class Batch:
    """B lists over the P distinct passages they hold; the positives of a list come first.

    Attributes:
        lists: Which list each row is, (B,).
        queries: Token lists, B of them.
        passages: Token lists of distinct passages, P of them.
        columns: Each candidate's place among the passages, (B, N); 0 where masked.
        mask: True where a candidate is real, (B, N).
        positives: True where a candidate is a positive, (B, N); at least one a row.
        negatives: True where a candidate may be a contrastive negative, (B, N).
        targets: The teacher's logits, (B, N); NaN where masked or not scored.
        forbidden: True where a passage may not be a negative of the row's query, (B, P).
    """

    lists: Rows
    queries: list[Sequence[int]]
    passages: list[Sequence[int]]
    columns: Rows
    mask: Flags
    positives: Flags
    negatives: Flags
    targets: Floats
    forbidden: Flags

    @property
    def tokens(self) -> int:
        """Tokens of the batch, padding not counted."""
        return sum(map(len, self.queries)) + sum(map(len, self.passages))


@dataclass(frozen=True)
class TrainingLists:
    """Lists of candidates, one per train query, in arrays that need no database while training.

    Attributes:
        query_tokens: Token lists, one per list.
        passage_tokens: Token lists by passage row; P of them.
        queries: Query row of each list, (L,); distinct.
        starts: Where each list begins in the arrays below, (L + 1,); list i is `starts[i]:starts[i + 1]`.
        passages: Passage rows, in rank order within a list.
        roles: `Role` of each.
        targets: The teacher's logit of each; NaN where there is none.
        known: Positives of any query, as sorted `query row * P + passage row`.
        approved: Pairs that the teacher approves, in the same form; no query of a batch takes them as negatives.
        clusters: Cluster of each list, (L,), where a batch is drawn from one; empty where lists are mixed.
    """

    query_tokens: Tokens
    passage_tokens: Tokens
    queries: Rows
    starts: Rows
    passages: Rows
    roles: NDArray[np.int8]
    targets: Floats
    known: Rows
    approved: Rows
    clusters: Rows = dataclass_field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if not len(self.queries) == len(self.query_tokens) == len(self.starts) - 1:
            raise ValueError(
                f"{len(self.queries)} query rows, {len(self.query_tokens)} token lists and {len(self.starts)} starts "
                "don't describe the same lists; candidates would go to other queries"
            )
        if not len(self.passages) == len(self.roles) == len(self.targets) == int(self.starts[-1]):
            raise ValueError("passages, roles and targets have different lengths; scores would go to other passages")
        if len(self.clusters) not in (0, len(self.queries)):
            raise ValueError(f"{len(self.clusters)} clusters are told of {len(self.queries)} lists; each needs one")
        if len(np.unique(self.queries)) != len(self.queries):
            raise ValueError("a query has two lists; one would take the other's positives for negatives")
        keys = np.sort(self._keys)
        if len(keys) and bool((keys[1:] == keys[:-1]).any()):
            row, passage = divmod(int(keys[:-1][keys[1:] == keys[:-1]][0]), len(self.passage_tokens))
            raise ValueError(f"passage row {passage} is twice in the list of query row {row}")
        without = self._counts(Role.POSITIVE) == 0
        if bool(without.any()):
            row = int(self.queries[without][0])
            raise ValueError(f"{int(without.sum())} lists have no positive (query row {row} is one); leave them out")

    @classmethod
    def build(
        cls, judged: Judged, query_tokens: Tokens, passage_tokens: Tokens, known: Rows, approved: Rows | None = None
    ) -> Self:
        """Gather judged pairs into lists; queries without a positive are left out.

        Args:
            judged: The pairs, those of one query in rank order.
            query_tokens: Token lists by query row.
            passage_tokens: Token lists by passage row.
            known: Every labelled positive pair of the corpus, `query row * P + passage row` (`pair_keys`).
            approved: Pairs that the teacher approves, in the same form; None where no teacher was asked.
        """
        held = np.isin(judged.queries, judged.queries[judged.roles == Role.POSITIVE])
        order = np.flatnonzero(held)[np.argsort(judged.queries[held], kind="stable")]
        queries, counts = np.unique(judged.queries[order], return_counts=True)
        return cls(
            query_tokens=[query_tokens[row] for row in queries],
            passage_tokens=passage_tokens,
            queries=queries,
            starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            passages=judged.passages[order],
            roles=judged.roles[order],
            targets=judged.targets[order],
            known=np.unique(known),
            approved=np.unique(approved) if approved is not None else np.zeros(0, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.queries)

    def select(self, keep: Flags) -> Self:
        """Keep some of the lists, by a mask (L,)."""
        held = np.repeat(keep, np.diff(self.starts))
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[keep])]).astype(np.int64)
        return replace(
            self,
            query_tokens=[tokens for tokens, kept in zip(self.query_tokens, keep, strict=True) if kept],
            queries=self.queries[keep],
            starts=starts,
            passages=self.passages[held],
            roles=self.roles[held],
            targets=self.targets[held],
            clusters=self.clusters[keep] if len(self.clusters) else self.clusters,
        )

    def candidates(self, soft: bool) -> Rows:
        """How many candidates a list can offer beside its positive, (L,)."""
        counts = self._counts(Role.NEGATIVE)
        return counts + self._counts(Role.SOFT) if soft else counts

    def unscored(self) -> int:
        """How many candidates have no teacher's score."""
        return int((~np.isfinite(self.targets)).sum())

    def digest(self) -> str:
        """Name the contents, so that a run is never resumed on other lists."""
        hasher = blake2b(digest_size=16)
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                hasher.update(f"{field.name} {value.dtype} {value.shape}".encode())
                hasher.update(np.ascontiguousarray(value).tobytes())
            else:
                for tokens in value:
                    hasher.update(np.asarray([len(tokens), *tokens], dtype=np.int64).tobytes())
        return hasher.hexdigest()

    def batches(self, draw: Draw) -> int:
        """Batches of an epoch; lists left over are among the next epoch's, which is shuffled anew."""
        return max(1, len(self) // draw.batch)

    def draw(self, draw: Draw, step: int) -> Batch:
        """Draw the batch of a step (counted from 0): a function of the seed and the step, with nothing to remember."""
        if not len(self):
            raise ValueError("there are no lists to draw from; without a labelled train query nothing can be learned")
        epoch, place = divmod(step, self.batches(draw))
        order = shuffled(len(self), draw.batch, self.clusters, np.random.default_rng([draw.seed, 0, epoch]))
        lists = order[place * draw.batch : (place + 1) * draw.batch]
        generator = np.random.default_rng([draw.seed, 1, step])
        picked = [self._pick(int(number), draw, generator) for number in lists]
        # The same in every batch, and for every process; a wish for longer lists than there are costs no memory.
        return self._batch(lists, picked, min(draw.length, int(np.diff(self.starts).max())))

    def _pick(self, number: int, draw: Draw, generator: np.random.Generator) -> Rows:
        """Places of the positives and the others of a list, which are fewer where the list is short."""
        start, stop = int(self.starts[number]), int(self.starts[number + 1])
        roles = self.roles[start:stop]
        others = roles != Role.POSITIVE if draw.soft else roles == Role.NEGATIVE
        places = np.flatnonzero(roles == Role.POSITIVE), np.flatnonzero(others)
        return start + np.concatenate(choose(draw, *places, self.targets[start:stop], generator)).astype(np.int64)

    def _batch(self, lists: Rows, picked: list[Rows], length: int) -> Batch:
        """Lay lists of unequal length out beside each other and find who may not be whose negative."""
        mask = np.arange(length) < np.asarray([len(places) for places in picked])[:, None]
        places = np.zeros(mask.shape, dtype=np.int64)
        places[mask] = np.concatenate(picked)
        rows, inverse = np.unique(self.passages[places[mask]], return_inverse=True)
        columns = np.zeros(mask.shape, dtype=np.int64)
        columns[mask] = inverse.reshape(-1)
        roles = np.where(mask, self.roles[places], Role.SOFT)
        forbidden = _among(self.queries[lists][:, None] * len(self.passage_tokens) + rows, self._barred)
        return Batch(
            lists=lists,
            queries=[self.query_tokens[number] for number in lists],
            passages=[self.passage_tokens[row] for row in rows],
            columns=columns,
            mask=mask,
            positives=roles == Role.POSITIVE,
            negatives=(roles == Role.NEGATIVE) & ~np.take_along_axis(forbidden, columns, axis=1),
            targets=np.where(mask, self.targets[places], np.float32(np.nan)).astype(np.float32),
            forbidden=forbidden,
        )

    def _counts(self, role: Role) -> Rows:
        totals = np.concatenate([[0], np.cumsum(self.roles == role)])
        return totals[self.starts[1:]] - totals[self.starts[:-1]]  # type: ignore[no-any-return]

    @cached_property
    def _keys(self) -> Rows:
        rows = np.repeat(self.queries, np.diff(self.starts))
        return rows * len(self.passage_tokens) + self.passages

    @cached_property
    def _barred(self) -> Rows:
        """Pairs that are never negatives: known positives, approved, and whatever a list doesn't call negative."""
        return np.unique(np.concatenate([self.known, self.approved, self._keys[self.roles != Role.NEGATIVE]]))


def pair_keys(queries: Rows, passages: Rows, n_passages: int) -> Rows:
    """Name pairs of rows by one number each: `query row * P + passage row`."""
    return queries.astype(np.int64) * n_passages + passages.astype(np.int64)


def _among(keys: Rows, sorted_keys: Rows) -> Flags:
    """Which keys are in a sorted array."""
    if not len(sorted_keys):
        return np.zeros(keys.shape, dtype=np.bool_)
    places = np.searchsorted(sorted_keys, keys)
    return sorted_keys[np.minimum(places, len(sorted_keys) - 1)] == keys  # type: ignore[no-any-return]
