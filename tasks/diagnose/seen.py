"""What a diagnosis looks at."""

from typing import Any

from pydantic import Field

from tasks.artifacts import Artifact
from tasks.denoise.evidence import Evidence
from tasks.refs import StudentRef
from tasks.settings import Settings


class Seen(Settings):
    """A student's vectors, and what its round was made of; None where the student comes from no round.

    Attributes:
        student: Who encodes the probes; needed where there are any.
        probes: Pairs of the user's own: a query and a passage each.
    """

    system: str
    vectors: Artifact
    mined: Artifact | None = None
    scored: Artifact | None = None
    judged: Artifact | None = None
    before: Artifact | None = None
    student: StudentRef | None = None
    probes: list[list[str]] = Field(default_factory=list)

    @property
    def named(self) -> dict[str, Any]:
        """What belongs to the name of a diagnosis beside its inputs."""
        return {"system": self.system, **({"probes": self.probes} if self.probes else {})}

    def fingerprints(self) -> dict[str, str]:
        """Fingerprints by role."""
        roles = ("vectors", "mined", "scored", "judged", "before")
        found: dict[str, Artifact | None] = {role: getattr(self, role) for role in roles}
        return {role: artifact.fingerprint for role, artifact in found.items() if artifact is not None}


def seen(
    system: str, vectors: Artifact, evidence: Evidence | None, verdicts: tuple[Artifact | None, Artifact | None]
) -> Seen:
    """Put together what a diagnosis looks at.

    Args:
        system: The student.
        vectors: Its vectors.
        evidence: What the verdicts of its round rest on; None where it comes from no round.
        verdicts: Of its round, and of the round before.
    """
    if evidence is None:
        return Seen(system=system, vectors=vectors)
    judged, before = verdicts
    return Seen(
        system=system, vectors=vectors, mined=evidence.mined, scored=evidence.scored, judged=judged, before=before
    )
