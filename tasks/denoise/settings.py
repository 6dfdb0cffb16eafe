"""What denoising can be told. Every threshold names its scale."""

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from tasks.settings import Settings

# Which policy reads what.
READ = {
    "keep": (),
    "drop": ("drop_below", "approve"),
    "promote": ("drop_below", "approve", "promote_above", "promote_depth"),
    "promote_all": ("approve",),
    "margin": ("approve", "margin"),
    "soften": ("approve",),
    "calibrated": ("quantile",),
}
PROBABILITIES = ("drop_below", "approve", "promote_above")
THRESHOLDS = (*PROBABILITIES, "promote_depth", "margin", "quantile")


class Denoising(Settings):
    """What happens to a candidate that the teacher likes."""

    policy: Literal["keep", "drop", "promote", "promote_all", "margin", "soften", "calibrated"] = Field(
        "soften",
        description="keep: every candidate is a negative. drop: only clear negatives by probability (RocketQA). "
        "promote: drop, and the best candidate of a query that nobody labelled becomes its positive (RocketQA's "
        "augmentation; wants mining.unlabelled). promote_all: approved candidates join the positives (SimLM). "
        "margin: only candidates well below the weakest positive, in logits. "
        "soften: all stay in the list; approved ones are never contrastive negatives (ColBERTv2). "
        "calibrated: what scores like the known positives is no negative; the threshold moves with the teacher.",
    )
    approve: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="Calibrated probability from which on the teacher approves; not for keep, calibrated.",
    )
    drop_below: float = Field(
        0.1, gt=0, lt=1, description="drop, promote: a negative's calibrated probability is strictly below this."
    )
    promote_above: float = Field(
        0.9, gt=0, lt=1, description="promote: the new positive's calibrated probability is strictly above this."
    )
    promote_depth: int = Field(50, ge=1, description="promote: ranks among which the best candidate is looked for.")
    margin: float = Field(
        3.0, ge=0, description="margin: logits that a negative stays below the lowest positive of its query."
    )
    quantile: float = Field(
        0.1,
        gt=0,
        lt=1,
        description="calibrated: share of the known positives whose logit lies below the threshold that is read off "
        "them.",
    )

    @field_validator(*PROBABILITIES, mode="before")
    @classmethod
    def _is_probability(cls, value: Any) -> Any:
        if isinstance(value, int | float) and not 0 < value < 1:
            raise ValueError(
                f"{value} is no probability between 0 and 1; a threshold in logits is `margin`, with policy = 'margin'"
            )
        return value

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> Self:
        """Of those that the policy reads: the others stand at their defaults, and could not be moved out of the way."""
        read = READ[self.policy]
        if "drop_below" in read and self.drop_below > self.approve:
            raise ValueError(
                f"drop_below {self.drop_below} is above approve {self.approve} (both probabilities): "
                "a candidate would be a negative and approved at once"
            )
        if "promote_above" in read and self.promote_above < self.approve:
            raise ValueError(
                f"promote_above {self.promote_above} is below approve {self.approve} (both probabilities): "
                "a passage would be a positive that the teacher doesn't approve of"
            )
        return self

    @model_validator(mode="after")
    def _thresholds_are_read(self) -> Self:
        for name in THRESHOLDS:
            value, default = getattr(self, name), type(self).model_fields[name].default
            if value != default and name not in READ[self.policy]:
                readers = ", ".join(policy for policy, read in READ.items() if name in read)
                raise ValueError(f"policy {self.policy!r} does not read {name} (set to {value}); {readers} would")
        return self
