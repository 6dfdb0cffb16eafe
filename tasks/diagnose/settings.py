"""Settings of `diagnose`."""

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from tasks.settings import Settings

Probe = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=2, max_length=2)]


class Diagnosis(Settings):
    """What is looked at besides the corpus."""

    probes: list[Probe] = Field(
        default_factory=list,
        description="Pairs of texts of your own, a query and a passage each, whose similarity the report tells: "
        '[["how to undo", "git revert"], …].',
    )
    probes_file: str = Field("", description="TOML file with further probes = [[query, passage], …].")

    @property
    def pairs(self) -> list[list[str]]:
        """All probes, those of the file last.

        Raises:
            FileNotFoundError: There is no such file.
            ValueError: It holds no list of pairs of texts.
        """
        return [*self.probes, *(_read(Path(self.probes_file).expanduser()) if self.probes_file else [])]


def _read(path: Path) -> list[list[str]]:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file, although diagnosis.probes_file names it")
    try:
        return TypeAdapter(list[Probe]).validate_python(tomllib.loads(path.read_text("utf-8"))["probes"])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, ValidationError) as error:
        raise ValueError(
            f'{path}: needed TOML with probes = [["a query", "a passage"], …], two texts in each: {error}'
        ) from error
