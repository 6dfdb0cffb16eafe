"""Which teacher judges, and how one is taught."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from tasks.settings import Settings


class TeacherSettings(Settings):
    """The cross-encoder that judges."""

    model: list[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=list,
        description="Hub id or folder of a ready cross-encoder; several: the mean of their logits, each standardised; "
        "empty: teach one on the labels.",
    )
    max_length: int = Field(
        0,
        ge=0,
        description="Tokens of query and passage together, no more than the model has positions; 0: as the model says.",
    )
    trust_remote_code: bool = Field(False, description="Run code that comes with the model.")
    blend: list[Annotated[float, Field(ge=0, le=1)]] = Field(
        [0.25, 0.5, 0.75, 1.0],
        min_length=1,
        description="Shares of the teacher against the incumbent student's similarity to try on dev; [1.0]: no blend.",
    )

    gate: Literal["stop", "warn"] = Field(
        "stop",
        description="stop: no round is made where the teacher, re-ranking what the last student found for dev, is not "
        "proven to be better than that student (one-sided p < 0.05); what there is by then is promoted, exported and "
        "reported. warn: it goes on and says so.",
    )

    @field_validator("model", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        """A single name is written without brackets."""
        return ([value] if value else []) if isinstance(value, str) else value


class Phases(Settings):
    """How a cross-encoder learns from labels (RocketQA's second step)."""

    steps: int = Field(400, ge=1, description="Point-wise steps of a teacher (of each fold).")
    listwise_steps: int = Field(0, ge=0, description="List-wise steps after the point-wise ones.")
    listwise_random_share: float = Field(0.0, ge=0, le=1, description="Share of random negatives in list-wise steps.")
    batch: int = Field(16, ge=1, description="Queries per step.")
    negatives: int = Field(7, ge=1, description="Negatives per positive.")
    random_share: float = Field(0.7, ge=0, le=1, description="Share of negatives drawn from the whole corpus.")
    lr: float = Field(5e-5, gt=0, description="Peak learning rate.")
    warmup_share: float = Field(0.1, ge=0, lt=1, description="Share of steps in which the learning rate rises.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of activations dropped while training.")
    frozen: list[str] = Field(
        default_factory=list, description="Parts of parameter names that stay as they are, such as word_embeddings."
    )
    evaluate_every: int = Field(100, ge=1, description="Steps between two looks at dev.")
    dev_queries: int = Field(150, ge=10, description="Dev queries looked at while training.")


class Teach(Phases):
    """How a teacher is trained on the labels, where none is named."""

    folds: int = Field(2, ge=2, description="Cross-fitting: no query is scored by a teacher that saw its labels.")
    start: str = Field(
        "warm",
        min_length=1,
        description="warm: from the warm student's weights; else hub id or folder of a cross-encoder that learns on, "
        "such as one that `remine teach` wrote.",
    )
