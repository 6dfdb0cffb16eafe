"""A student of a plan with what would be known of it, and who would go on."""

from dataclasses import dataclass

from tasks.mine.miners import Miner
from tasks.promote.deciding import Decision
from tasks.refs import Artifact, StudentRef


@dataclass(frozen=True)
class Measured:
    """A student, its vectors and its evaluation, made or not."""

    student: StudentRef
    vectors: Artifact
    evaluation: Artifact

    @property
    def miner(self) -> Miner:
        """What mining asks."""
        return Miner(system=self.student.system, vectors=self.vectors)


@dataclass(frozen=True)
class Decided:
    """Who goes on, where that is known."""

    winner: Measured
    decision: Decision | None
