"""One line of a plan, and the plan."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from tasks.settings import Settings

# What time is spent on. A pair that several teachers read counts as several readings.
Unit = Literal[
    "passage",
    "query",
    "reading",
    "warmup step",
    "training step",
    "pointwise step",
    "listwise step",
    "ranking",
    "bm25 ranking",
    "load",
    "start",
    "second",
]


class Line(Settings):
    """One step of one round."""

    step: str
    round: int
    what: str = Field("", description="The system or the queries it is about.")
    done: bool = Field(False, description="Its artifact is there already, so that a run does nothing.")
    above: bool = Field(False, description="Nothing to do because an earlier line makes it.")
    passages: int = Field(0, description="Passages to encode.")
    queries: int = Field(0, description="Queries to encode.")
    pairs: int = Field(0, description="Pairs to score that the teacher has not scored yet.")
    reused: int = Field(0, description="Pairs whose score is in the store.")
    steps: int = Field(0, description="Optimiser steps.")
    costs: dict[Unit, float] = Field(default_factory=dict, description="What time will be spent on.")
    artifact_bytes: int = Field(0, description="Size of its artifact, about.")
    warehouse_bytes: int = Field(0, description="What the warehouse and its snapshot grow by, about.")
    assumed: list[str] = Field(default_factory=list, description="What of the amounts is assumed, and why.")
    seconds: float | None = Field(None, description="How long it will take, about.")

    def priced(self, seconds: Mapping[Unit, float]) -> "Line":
        """The same line with its time, from seconds per unit."""
        return self.model_copy(update={"seconds": sum(count * seconds[unit] for unit, count in self.costs.items())})


class Pace(Settings):
    """How fast this machine is, measured in a few seconds."""

    device: str
    precision: str
    threads: int
    seconds: dict[Unit, float] = Field(description="Seconds per unit, of those that the plan needs.")
    encoded_tokens: float | None = Field(None, description="Tokens that the student encodes in a second.")
    scored_tokens: float | None = Field(None, description="Tokens that the teacher scores in a second.")
    scored_by: str = Field("", description="Whose speed stands for the teacher's.")
    busy: float = Field(description="Load average just before: processes of others that wanted the processor.")
    took: float = Field(description="Seconds that measuring took, loading models included.")


class Plan(Settings):
    """Everything that a run would do, in its order."""

    recipe: str
    lines: list[Line]
    pace: Pace | None = Field(None, description="None where there is nothing to do.")
    passing_bytes: int = Field(0, description="Bytes that the state of a training takes until it is done, about.")
    assumed: list[str] = Field(default_factory=list, description="What is assumed of the whole run.")

    @property
    def todo(self) -> list[Line]:
        """The lines that cost something."""
        return [line for line in self.lines if not line.done]

    @property
    def seconds(self) -> float:
        """Seconds of the whole run, about."""
        return sum(line.seconds or 0.0 for line in self.todo)

    @property
    def bytes(self) -> int:
        """Bytes that the run leaves on disk, about."""
        return sum(line.artifact_bytes + line.warehouse_bytes for line in self.todo)
