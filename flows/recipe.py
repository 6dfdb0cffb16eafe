"""The recipe: everything that decides what comes out, in one TOML file."""

from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from flows.overriding import problems, read_settings
from tasks.baseline.settings import StudentSettings
from tasks.denoise.settings import Denoising
from tasks.diagnose.settings import Diagnosis
from tasks.evaluate.settings import Evaluation
from tasks.ingest.settings import Source
from tasks.mine.settings import Mining
from tasks.promote.settings import Promotion
from tasks.refresh.settings import Refresh
from tasks.settings import Settings
from tasks.teach.settings import Teach, TeacherSettings
from tasks.train.settings import Training
from tasks.warmup.settings import Warmup


class Named(Settings):
    """What a flow does, under a name for its runs."""

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9._-]+$", description="Name of the recipe, also of its runs.")


class Recipe(Named):
    """What `distill` does; the machine it does it on is not in here."""

    rounds: int = Field(2, ge=1, description="Rounds of mining, scoring and training.")
    patience: int = Field(1, ge=1, description="Rounds without a better dev measure before the loop stops.")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of everything drawn at random.")
    budget: float = Field(
        1.0, gt=0, le=1, description="Share of all steps, and of the queries that are mined; spent when it is read."
    )
    source: Source = Field(description="Corpus, queries and labels.")
    student: StudentSettings = Field(description="The bi-encoder to teach.")
    warmup: Warmup = Field(Warmup(), description="Training on the labels alone: miner of round 1, and the control.")
    teacher: TeacherSettings = Field(TeacherSettings(), description="The cross-encoder that judges.")
    teach: Teach = Field(Teach(), description="How a teacher is trained where none is named.")
    mining: Mining = Field(Mining(), description="Which candidates are looked at.")
    denoising: Denoising = Field(Denoising(), description="What is done with negatives that the teacher approves.")
    training: Training = Field(Training(), description="How the student learns from the judged lists.")
    evaluation: Evaluation = Field(Evaluation(), description="How systems are measured.")
    diagnosis: Diagnosis = Field(Diagnosis(), description="What is looked at besides the corpus.")
    promotion: Promotion = Field(Promotion(), description="When a new student replaces the old one.")
    refresh: Refresh = Field(Refresh(), description="How the student in use is brought up to date.")

    @model_validator(mode="after")
    def _spend_budget(self) -> Self:
        """Scale steps and queries down, once: what the recipe says from then on is what is done."""
        share = self.budget
        sections = {
            "warmup": {"steps": _part(self.warmup.steps, share)},
            "teach": {
                "steps": _part(self.teach.steps, share),
                "listwise_steps": _part(self.teach.listwise_steps, share),
            },
            "mining": {"query_share": self.mining.query_share * share},
            "training": {
                "steps": _part(self.training.steps, share),
                "clusters": _part(self.training.clusters, share),
            },
        }
        for name, changes in sections.items() if share < 1 else ():
            object.__setattr__(self, name, getattr(self, name).model_copy(update=changes))
        object.__setattr__(self, "budget", 1.0)
        return self

    @model_validator(mode="after")
    def _unlabelled_queries_are_used(self) -> Self:
        policy, unlabelled = self.denoising.policy, self.mining.unlabelled
        if policy == "promote" and not unlabelled:
            raise ValueError(
                "denoising.policy 'promote' gives positives to queries that nobody labelled, and none is mined: it "
                "would be 'drop'. Set mining.unlabelled = true"
            )
        if unlabelled and policy not in ("promote", "promote_all"):
            raise ValueError(
                f"mining.unlabelled is set, and denoising.policy {policy!r} gives no query a positive: what is mined "
                "for queries without labels would be scored and never used. Use 'promote' or 'promote_all'"
            )
        return self


def _part(steps: int, share: float) -> int:
    """A share of some steps, at least one where there are any."""
    return max(1, round(share * steps)) if steps else 0


def load_recipe(path: Path, overrides: list[str]) -> Recipe:
    """Read a recipe and apply `key=value` overrides (dotted keys, TOML values; bare words are text).

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not TOML, or a setting is unknown or out of range; the message names each.
    """
    document = read_settings(path, overrides, "no such recipe; `remine init YOUR_DATA` writes one")
    try:
        return Recipe.model_validate(document)
    except ValidationError as error:
        raise ValueError(f"{path}: the recipe cannot be used:\n{problems(error)}") from error
