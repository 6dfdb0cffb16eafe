"""How a student is trained."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tasks.settings import Settings

ObjectiveName = Literal["contrastive", "margin_mse", "kl", "triplet"]
READ: dict[ObjectiveName, tuple[str, ...]] = {
    "contrastive": ("tau", "symmetric"),
    "margin_mse": ("tau",),
    "kl": ("tau", "teacher_tau", "rescale"),
    "triplet": ("margin",),
}


class Objective(Settings):
    """One term of the training objective."""

    name: ObjectiveName = Field(description="Its formula: models/objectives.py, with the paper of each.")
    weight: float = Field(1.0, gt=0, description="Factor in the sum.")
    tau: float = Field(0.05, ge=1e-4, description="Divides the student's similarities (all but triplet).")
    teacher_tau: float = Field(1.0, ge=1e-4, description="Divides the teacher's logits (kl).")
    margin: float = Field(0.2, ge=0, description="Margin in units of similarity (triplet).")
    symmetric: bool = Field(False, description="Passages choose among queries too (contrastive, in-batch).")
    rescale: bool = Field(False, description="Multiply by tau squared, so that tau changes no gradient's size (kl).")

    @model_validator(mode="after")
    def _is_read(self) -> Self:
        read = ("name", "weight", *READ[self.name])
        idle = [
            f"{name} {getattr(self, name)!r}"
            for name, field in type(self).model_fields.items()
            if name not in read and getattr(self, name) != field.default
        ]
        if idle:
            raise ValueError(
                f"{self.name} does not read {', '.join(idle)}; beside its weight it reads {', '.join(read[2:])}, and "
                "what it does not read would change nothing"
            )
        return self


class Lora(Settings):
    """Small matrices that learn in place of the transformer's own and are added to them (LoRA, arXiv 2106.09685)."""

    rank: int = Field(0, ge=0, le=4096, description="Size of the small matrices, such as 8; 0: every weight learns.")
    alpha: float = Field(16.0, gt=0, description="What they change is multiplied by alpha / rank.")
    target_modules: list[str] = Field(
        default_factory=list, description="Linear layers that get one, by the end of their name; empty: all of them."
    )


class Optimiser(Settings):
    """Steps, learning rate and when to look at dev."""

    steps: int = Field(300, ge=1, description="Optimiser steps.")
    batch: int = Field(64, ge=2, description="Queries per step.")
    lr: float = Field(
        1e-4,
        gt=0,
        description="Peak learning rate; measured with six layers of 384: larger students usually want 2e-5.",
    )
    warmup_share: float = Field(0.1, ge=0, lt=1, description="Share of steps in which the learning rate rises.")
    weight_decay: float = Field(0.01, ge=0, description="AdamW's weight decay.")
    clip: float = Field(1.0, gt=0, description="Largest gradient norm.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of activations dropped while training.")
    frozen: list[str] = Field(
        default_factory=list, description="Parts of parameter names that stay as they are, such as word_embeddings."
    )
    evaluate_every: int = Field(50, ge=1, description="Steps between two looks at dev.")
    patience: int = Field(0, ge=0, description="Looks without a better measure before stopping; 0: never.")


class Training(Optimiser):
    """How the student learns from the judged lists."""

    objectives: list[Objective] = Field(
        [Objective(name="contrastive"), Objective(name="kl", weight=0.5)],
        min_length=1,
        description="Terms of the objective.",
    )
    start: Literal["base", "warm", "last"] = Field("warm", description="Weights that a round trains from.")
    list_length: int = Field(4, ge=2, description="Passages per query: positives, and candidates for the rest.")
    positives: int = Field(
        1, ge=1, description="Positives of a list at most; each is compared with the candidates (kl: with all at once)."
    )
    pick: Literal["random", "top", "balanced"] = Field(
        "random",
        description="Candidates of a list. random: anew every epoch. top: the first by rank. balanced: hard and easy "
        "ones alike, by the teacher's margin (TAS-B).",
    )
    pool: int = Field(
        0,
        ge=0,
        description="Candidates of a query that its lists are drawn from: the first so many by rank that may be in "
        "one; 0: all.",
    )
    clusters: int = Field(
        0, ge=0, description="Topics of queries; above 0 a batch holds queries of one (TAS-B). Several batches each."
    )
    dimensions: list[Annotated[int, Field(ge=1)]] = Field(
        default_factory=list,
        description="Shorter vectors that have to rank well too (Matryoshka), such as [64, 128]; each is evaluated.",
    )
    in_batch: bool = Field(True, description="Other queries' passages are negatives in contrastive terms.")
    chunk_tokens: int = Field(
        0,
        ge=0,
        description="Tokens per gradient-cache chunk; 0: the whole batch in one graph. An interrupted training that "
        "goes on with another number says so: dropout is drawn per chunk, so it ends as good, but not bit-equal.",
    )

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [objective.name for objective in self.objectives]
        if len(set(names)) != len(names):
            raise ValueError(f"each of objectives may stand once, got {', '.join(names)}; add their weights instead")
        return self

    @model_validator(mode="after")
    def _lists_hold_what_is_asked(self) -> Self:
        if self.positives >= self.list_length:
            raise ValueError(
                f"positives {self.positives} leave no place for a candidate in lists of {self.list_length}; "
                "there would be nothing to compare them with"
            )
        if self.pool and self.pick == "top":
            raise ValueError(
                f"pool {self.pool} narrows what is drawn at random, and pick 'top' draws nothing: leave one"
            )
        if 0 < self.pool < self.list_length - self.positives:
            raise ValueError(
                f"pool {self.pool} is less than the {self.list_length - self.positives} candidates of a list; no list "
                "would be whole"
            )
        if len(set(self.dimensions)) != len(self.dimensions):
            raise ValueError(f"each of dimensions may stand once, got {self.dimensions}")
        if not self.in_batch and any(objective.symmetric for objective in self.objectives):
            raise ValueError("symmetric needs in_batch: alone, a passage has one query and nothing to choose from")
        return self
