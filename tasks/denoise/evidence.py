"""What a verdict rests on."""

from tasks.artifacts import Artifact
from tasks.settings import Settings


class Evidence(Settings):
    """The artifacts of one round that denoising reads."""

    corpus: Artifact
    vectors: Artifact
    mined: Artifact
    scored: Artifact

    def fingerprints(self) -> dict[str, str]:
        """Fingerprints by role, as inputs of the verdicts."""
        return {
            "corpus": self.corpus.fingerprint,
            "vectors": self.vectors.fingerprint,
            "mined": self.mined.fingerprint,
            "scored": self.scored.fingerprint,
        }
