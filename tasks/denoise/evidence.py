"""What a verdict rests on."""

from tasks.artifacts import Artifact
from tasks.settings import Settings


class Reviewed(Settings):
    """Labels that people gave in review, and the teacher's scores of these pairs."""

    labels: Artifact
    scored: Artifact


class Evidence(Settings):
    """The artifacts of one round that denoising reads; `reviewed` is what people said, and its scores."""

    corpus: Artifact
    vectors: Artifact
    mined: Artifact
    scored: Artifact
    reviewed: Reviewed | None = None

    def fingerprints(self) -> dict[str, str]:
        """Fingerprints by role, as inputs of the verdicts."""
        known = {"corpus": self.corpus, "vectors": self.vectors, "mined": self.mined, "scored": self.scored}
        if self.reviewed is not None:
            known |= {"reviewed": self.reviewed.labels, "reviewed_scores": self.reviewed.scored}
        return {role: artifact.fingerprint for role, artifact in known.items()}
