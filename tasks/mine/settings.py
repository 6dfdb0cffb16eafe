"""What mining can be told."""

from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.settings import Settings


class Mining(Settings):
    """How deep to look and what to leave out.

    Ranks are those of the retrieved list after known positives, their duplicates and the query's own text
    are removed, and before anything else is.
    """

    miner: Literal["dense"] = Field("dense", description="Who retrieves: dense is exact search by the current student.")
    depth: int = Field(100, ge=1, description="Passages retrieved per query.")
    first_rank: int = Field(1, ge=1, description="First rank that may become a negative.")
    last_rank: int = Field(100, ge=1, description="Last rank that may become a negative.")
    query_share: float = Field(
        1.0, gt=0, le=1, description="Share of the train queries that are mined and trained on, chosen by hash."
    )

    @model_validator(mode="after")
    def _window_fits(self) -> Self:
        if not self.first_rank <= self.last_rank <= self.depth:
            raise ValueError(f"ranks {self.first_rank}–{self.last_rank} don't fit in a depth of {self.depth}")
        return self
