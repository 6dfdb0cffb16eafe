"""Small references that steps hand each other: never frames, never tensors."""

from pathlib import Path

from pydantic import Field

from tasks.artifacts import Artifact
from tasks.settings import Settings
from tasks.train.settings import Lora
from tasks.where import Where

__all__ = ["Artifact", "Blend", "Member", "Run", "StudentRef", "TeacherRef"]


class Run(Settings):
    """One invocation of a flow."""

    id: int = Field(description="Key of this invocation in the table `runs`.")
    recipe: str = Field(description="Name of the recipe.")
    where: Where

    @property
    def root(self) -> Path:
        """The folder of all artifacts."""
        return self.where.artifacts_path


class StudentRef(Settings):
    """A bi-encoder: a sentence-transformers folder and what it is."""

    system: str = Field(description="base, warm, warm-long or round-N.")
    fingerprint: str = Field(description="Fingerprint of weights, tokenizer, pooling, prompts, similarity, length.")
    path: Path
    trust_remote_code: bool = Field(False, description="Run code that comes with the model.")
    lora: Lora = Field(Lora(), description="How it is trained, and whoever is trained from it; no part of what it is.")


class Blend(Settings):
    """How the teacher's logit and the incumbent student's similarity become one judgement.

    Each is standardised per query over its first `depth` candidates (0: over all), as many as there were when the
    weight was chosen; `weight` is the teacher's share (1: the teacher alone).
    """

    weight: float = Field(1.0, ge=0.0, le=1.0)
    depth: int = Field(0, ge=0)


class Member(Settings):
    """One teacher of an ensemble, and the scale that its logits are brought to: (logit - mean) / deviation."""

    teacher: "TeacherRef"
    mean: float
    deviation: float = Field(gt=0.0)


class TeacherRef(Settings):
    """A cross-encoder, its cross-fitted folds, or an ensemble of cross-encoders, with its calibration."""

    fingerprint: str
    path: Path = Field(description="A CrossEncoder folder, or a folder of folds or members with `teacher.json`.")
    name: str = Field(description="Hub id, folder or `taught`; of an ensemble, those of its members.")
    members: tuple[Member, ...] = Field((), description="The teachers of an ensemble; none: it is one teacher.")
    max_length: int = Field(0, description="Tokens of query and passage together; 0: as the folder says.")
    trust_remote_code: bool = Field(False, description="Run code that comes with the model.")
    listwise: bool = Field(False, description="Its logits have no absolute scale: trained on lists, or an ensemble.")
    a: float = Field(1.0, description="probability = sigmoid(a * judgement + b)")
    b: float = 0.0
    calibrated: bool = Field(False, description="a and b were fitted on dev.")
    blend: Blend = Blend()
