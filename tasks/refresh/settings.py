"""Settings of `refresh`."""

from typing import Literal

from pydantic import Field

from tasks.settings import Settings


class Refresh(Settings):
    """How the student in use is brought up to date with grown data."""

    share: float = Field(0.25, gt=0, le=1, description="Share of training.steps that the retrain takes.")
    miner: Literal["same", "incumbent"] = Field(
        "same",
        description="same: who mined what the student in use learned from, so that only pairs of new texts are scored. "
        "incumbent: the student in use mines everything afresh, which scores about as many pairs as a round.",
    )
    level: float = Field(0.05, gt=0, lt=1, description="Two-sided p-value on dev below which the retrain is promoted.")
