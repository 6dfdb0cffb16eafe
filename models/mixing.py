"""Several collections taught by turns: every batch is drawn from one of them, from each as often as from the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from models.teaching import TeacherPlan, TeachingBatch, TeachingLists


@dataclass(frozen=True)
class MixedLists:
    """Teaching lists of several collections; a small one is seen as often as a large one, in more epochs.

    A batch is of one collection, so that random negatives are of it as well: those of another would be told apart by
    their subject alone.

    Attributes:
        parts: One per collection, at least one.
    """

    parts: Sequence[TeachingLists]

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("a teacher needs at least one collection to learn from")

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    @property
    def without_hard(self) -> int:
        """How many queries have no hard negative."""
        return sum(part.without_hard for part in self.parts)

    def digest(self) -> str:
        """Name the contents."""
        return blake2b("".join(part.digest() for part in self.parts).encode(), digest_size=16).hexdigest()

    def batches(self, plan: TeacherPlan) -> int:
        """Batches until the largest collection has been seen once, as many of each."""
        return len(self.parts) * max(part.batches(plan) for part in self.parts)

    def draw(self, plan: TeacherPlan, step: int) -> TeachingBatch:
        """Draw the batch of a step (counted from 0): a function of the seed and the step alone."""
        turn, part = divmod(step, len(self.parts))
        return self.parts[part].draw(plan, turn)
