"""Settings of `promote`."""

from typing import Literal

from pydantic import Field

from tasks.settings import Settings


class Promotion(Settings):
    """When a new student replaces the one there is."""

    rule: Literal["better"] = Field("better", description="better: the higher mean on dev; equal keeps the old one.")
    seed: int = Field(0, ge=0, description="Seed of the paired test and of the interval.")
