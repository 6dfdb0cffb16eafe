"""What the flow `teach` is asked for."""

from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from flows.overriding import problems, read_settings
from flows.recipe import Named
from tasks.baseline.settings import StudentSettings
from tasks.evaluate.settings import Evaluation
from tasks.ingest.settings import Source
from tasks.mine.settings import Mining
from tasks.teach.settings import Phases


class Curriculum(Named):
    """Which collections a general teacher is taught on, and how."""

    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of everything drawn at random.")
    sources: list[Source] = Field(min_length=1, description="Collections with labels, each learnt from equally often.")
    student: StudentSettings = Field(
        description="The bi-encoder whose transformer the teacher starts from, and who mines its hard negatives."
    )
    teach: Phases = Field(Phases(), description="How the teacher learns from the labels.")
    mining: Mining = Field(Mining(), description="Which candidates hard negatives are taken from.")
    evaluation: Evaluation = Field(Evaluation(), description="How systems are measured.")

    @model_validator(mode="after")
    def _one_name_each(self) -> Self:
        names = [source.corpus for source in self.sources]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"several sources are called {', '.join(twice)}; give each a name of its own (name = …)")
        return self


def load_curriculum(path: Path, overrides: list[str]) -> Curriculum:
    """Read a curriculum and apply `key=value` overrides.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not TOML, or a setting is unknown or out of range; the message names each.
    """
    document = read_settings(path, overrides, "no such file; flows/presets/general-teacher.toml is one")
    try:
        return Curriculum.model_validate(document)
    except ValidationError as error:
        raise ValueError(f"{path}: nothing can be taught like this:\n{problems(error)}") from error
