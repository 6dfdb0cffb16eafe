"""Settings of `promote`."""

from typing import Literal

from pydantic import Field

from tasks.settings import Settings


class Promotion(Settings):
    """When a new student replaces the one there is."""

    rule: Literal["better", "proven"] = Field(
        "better",
        description="better: the higher mean on dev; equal keeps the old one. proven: higher, and the paired test's p "
        "is below `level`.",
    )
    level: float = Field(0.05, gt=0, lt=1, description="proven: the two-sided p-value that counts as proof.")
    seed: int = Field(0, ge=0, description="Seed of the paired test and of the interval.")
