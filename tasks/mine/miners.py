"""Who can be asked to retrieve: students by their vectors, and BM25."""

from tasks.artifacts import Artifact
from tasks.mine.settings import Mining
from tasks.settings import Settings

BM25 = "bm25"


class Miner(Settings):
    """A student that has encoded the corpus."""

    system: str
    vectors: Artifact


class Miners(Settings):
    """The students there are when a round begins."""

    student: Miner
    base: Miner
    warm: Miner
    earlier: tuple[Miner, ...] = ()

    @classmethod
    def first(cls, base: Miner, warm: Miner) -> "Miners":
        """Before the rounds: the warm student is the current one."""
        return cls(student=warm, base=base, warm=warm)

    def then(self, student: Miner) -> "Miners":
        """After a round: its student is the current one, and who was is an earlier one."""
        return self.model_copy(update={"student": student, "earlier": (*self.earlier, self.student)})

    def asked(self, settings: Mining) -> list[Miner]:
        """The students that retrieve, in the order of the settings; one that is named twice is asked once."""
        found: dict[str, Miner] = {}
        for name in settings.miners:
            for miner in self._named(name):
                found.setdefault(miner.vectors.fingerprint, miner)
        return list(found.values())

    def fingerprints(self, settings: Mining) -> dict[str, str]:
        """Fingerprints of the vectors that mining reads, by role."""
        roles = {f"vectors of {miner.system}": miner.vectors.fingerprint for miner in self.asked(settings)}
        return {"vectors": self.student.vectors.fingerprint, **roles}

    def _named(self, name: str) -> tuple[Miner, ...]:
        named = {"student": (self.student,), "base": (self.base,), "warm": (self.warm,), "earlier": self.earlier}
        return named.get(name, ())
