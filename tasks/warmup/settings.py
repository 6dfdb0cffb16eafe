"""How the base is trained on the labels alone."""

from pydantic import Field

from tasks.train.settings import Optimiser


class Warmup(Optimiser):
    """Labels alone, in-batch negatives (RocketQA's first step, arXiv 2010.08191)."""

    steps: int = Field(200, ge=1, description="Optimiser steps.")
    batch: int = Field(64, ge=2, description="Queries per step; the others' passages are the negatives.")
    tau: float = Field(0.05, gt=0, description="Divides the similarities.")
    control: bool = Field(
        True, description="Also train it for as many steps as warm-up and a round together: the equal-compute control."
    )
