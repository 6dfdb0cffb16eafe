"""Settings of `baseline`: the student to teach."""

from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.settings import Settings
from tasks.train.settings import Lora


class StudentSettings(Settings):
    """The bi-encoder to teach, as it comes."""

    model: str = Field(
        min_length=1,
        description="A hub id, a sentence-transformers folder, or package:NAME/folder inside an installed package.",
    )
    max_length: int | None = Field(None, ge=8, description="Longest text in tokens; none keeps the model's own.")
    prompts: dict[Literal["query", "passage"], str] = Field(
        default_factory=dict, description="Prefixes of queries and passages; empty keeps the model's own."
    )
    layers: list[int] = Field(
        default_factory=list, description="Layers to keep, from 0, such as [0, 2, 4]; empty keeps all."
    )
    init: Literal["trained", "random"] = Field(
        "trained", description="random: keep the architecture and the tokenizer, and start from random weights."
    )
    similarity: Literal["own", "cosine", "dot"] = Field(
        "own",
        description="How vectors are compared, here and in the exported folder. own: as the model says. cosine: made "
        "unit length. dot: as they are, without the model's normalisation; its range wants other temperatures.",
    )
    towers: Literal[1, 2] = Field(
        1, description="2: queries and passages get a tower each, both starting as the model; a Router has two anyway."
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of random weights.")
    lora: Lora = Field(Lora(), description="Train small matrices beside its weights (needs peft); rank 0: all weights.")
    trust_remote_code: bool = Field(False, description="Run code that comes with the model.")

    @model_validator(mode="after")
    def _random_weights_learn(self) -> Self:
        if self.init == "random" and self.lora.rank:
            raise ValueError(
                f"init 'random' with lora.rank {self.lora.rank} would leave random weights as they are for good and "
                "train small matrices beside them; let every weight learn (rank 0), or start from trained ones"
            )
        return self

    @property
    def differs(self) -> bool:
        """Whether it is another student than the model as it comes."""
        changed = self.max_length is not None or bool(self.prompts or self.layers)
        return changed or self.init == "random" or self.similarity != "own" or self.towers == 2
