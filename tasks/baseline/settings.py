"""Settings of `baseline`: the student to teach."""

from typing import Literal

from pydantic import Field

from tasks.settings import Settings


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
    trust_remote_code: bool = Field(False, description="Run code that comes with the model.")
