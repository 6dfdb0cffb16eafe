"""What denoising can be told. Every threshold names its scale."""

from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.settings import Settings


class Denoising(Settings):
    """What happens to a candidate that the teacher likes."""

    policy: Literal["keep", "drop", "margin", "soften"] = Field(
        "soften",
        description="keep: every candidate is a negative. drop: only clear negatives by probability (RocketQA). "
        "margin: only candidates well below the weakest positive, in logits. "
        "soften: all stay in the list; approved ones are never contrastive negatives (ColBERTv2).",
    )
    approve: float = Field(
        0.5, gt=0, lt=1, description="Calibrated probability from which on the teacher approves of a candidate."
    )
    drop_below: float = Field(
        0.1, gt=0, lt=1, description="drop: a negative's calibrated probability is strictly below this."
    )
    margin: float = Field(
        3.0, ge=0, description="margin: logits that a negative stays below the lowest positive of its query."
    )

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> Self:
        if self.drop_below > self.approve:
            raise ValueError(
                f"drop_below {self.drop_below} is above approve {self.approve} (both probabilities): "
                "a candidate would be a negative and approved at once"
            )
        return self
