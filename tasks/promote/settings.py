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
    guard: str = Field(
        "", description="A second, general set (as source.path) on which no new student may get worse; empty: none."
    )
    guard_tolerance: float = Field(
        0.01,
        ge=0,
        lt=1,
        description="How much of the measure it may lose there, against the student that the run began with.",
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of the paired test and of the interval.")
