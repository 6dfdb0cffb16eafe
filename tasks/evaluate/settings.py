"""Settings of `evaluate`."""

from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.settings import Settings

MeasureName = Literal["nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10", "RR@10", "R@1", "R@5", "R@10", "R@50", "R@100", "AP"]


class Evaluation(Settings):
    """How systems are measured."""

    depth: int = Field(100, ge=100, description="Passages retrieved per query; at least 100, the deepest measure.")
    rerank_depth: int = Field(20, ge=1, description="First passages of every ranking that the teacher re-ranks.")
    measure: MeasureName = Field("nDCG@10", description="The measure that decides on dev.")

    ignore_identical_ids: bool = Field(
        False, description="Leave out a passage that has the query's own id, as BEIR's ArguAna and Quora want it."
    )

    @property
    def named(self) -> dict[str, bool]:
        """What of it belongs to the name of a ranking, beside the depth."""
        return {"ignore_identical_ids": True} if self.ignore_identical_ids else {}

    @model_validator(mode="after")
    def _rerank_within_depth(self) -> Self:
        if self.rerank_depth > self.depth:
            raise ValueError(f"rerank_depth {self.rerank_depth} is deeper than the {self.depth} passages retrieved")
        return self
