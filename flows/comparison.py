"""What the flow `evaluate` is asked for."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from flows.overriding import override, problems
from flows.recipe import Named
from tasks.baseline.settings import StudentSettings
from tasks.evaluate.settings import Evaluation
from tasks.ingest.settings import MeasuredSource
from tasks.report.tables import ORDER
from tasks.teach.settings import TeacherSettings

# What remine calls systems of its own, in any run: a model of that name would be taken for one of them.
OWN = re.compile("|".join([*map(re.escape, ORDER), r"round-\d+", r".*\+teacher", r".*@\d+"]), re.IGNORECASE)


class Comparison(Named):
    """Which models are measured on what, and who re-ranks what they find."""

    source: MeasuredSource
    models: list[StudentSettings] = Field(min_length=1, description="Bi-encoders as they come.")
    teacher: TeacherSettings = Field(TeacherSettings(), description="The cross-encoder that re-ranks; none: nobody.")
    evaluation: Evaluation = Evaluation()
    trec_out: Path | None = Field(None, description="Folder for TREC runs and qrels.")

    @model_validator(mode="after")
    def _one_name_each(self) -> Self:
        names = self.systems
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)}: named twice; needed models that differ, each with a row of its own")
        own = [name for name in names if OWN.fullmatch(name)]
        if own:
            raise ValueError(
                f"{', '.join(own)}: remine calls systems of its own so ({', '.join(ORDER)}, round-N, NAME+teacher, "
                "NAME@D), and a row of that name would be taken for one of them; give a folder by its path (./NAME), "
                "and rename one that ends in +teacher or @D"
            )
        if len(self.teacher.model) > 1:
            raise ValueError(
                f"{len(self.teacher.model)} teachers are named; needed one cross-encoder: the scales of an ensemble "
                "are settled by a run of its own"
            )
        return self

    @property
    def systems(self) -> list[str]:
        """The models' names in tables: the last part of each, or all of it where that would not tell which is meant.

        Which it would not where two have the same last part, and where remine calls a system of its own so.
        """
        last = [model.model.rstrip("/").rsplit("/", 1)[-1] for model in self.models]
        told = [last.count(name) == 1 and name not in ("", ".", "..") and not OWN.fullmatch(name) for name in last]
        return [name if tells else model.model for model, name, tells in zip(self.models, last, told, strict=True)]


def comparison_of(data: str, models: Sequence[str], changes: Sequence[str], also: Mapping[str, Any]) -> Comparison:
    """A comparison, named by its data.

    Args:
        data: Path of the data.
        models: Hub ids or folders.
        changes: `key=value` with keys under source, teacher and evaluation.
        also: Further settings.

    Raises:
        ValueError: No model is named, or a setting is unknown or out of range; the message names each.
    """
    if not models:
        raise ValueError("no model is named; give at least one after --models")
    document: dict[str, Any] = {
        "name": re.sub(r"[^A-Za-z0-9._-]+", "-", Path(data).stem) or "data",
        "source": {"path": data},
        "models": [{"model": model} for model in models],
        **also,
    }
    for change in changes:
        override(document, change)
    try:
        return Comparison.model_validate(document)
    except ValidationError as error:
        raise ValueError(f"{data}: cannot be evaluated like this:\n{problems(error)}") from error
