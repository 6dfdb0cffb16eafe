"""The guard set: a second, general one on which no new student may get worse."""

from tasks.artifacts import Artifact
from tasks.ingest.settings import MeasuredSource
from tasks.promote.settings import Promotion

STEP = "guard"  # the part that all of it plays in a run: its corpus and its vectors are not those of the run


def guard_source(settings: Promotion) -> MeasuredSource | None:
    """The guard set; None where the recipe names none."""
    return MeasuredSource(path=settings.guard, as_split="guard") if settings.guard else None


def guard_part(artifact: Artifact) -> Artifact:
    """The artifact as a part of the guard."""
    return artifact.model_copy(update={"step": STEP})
