"""Variants of a recipe: every combination of the values that some settings are to take."""

import re
import tomllib
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Self

import tomli_w
from pydantic import Field, ValidationError, model_validator

from flows.overriding import override, problems
from flows.recipe import Named, Recipe, load_recipe
from tasks.settings import Settings

MOST = 200


class Variant(Settings):
    """One combination of values."""

    values: dict[str, str] = Field(description="Setting → its value, as TOML.")
    recipe: Recipe


class Sweep(Named):
    """A recipe in several variants, run one after the other into one warehouse."""

    recipe: Recipe
    over: dict[str, list[str]] = Field(
        min_length=1, description="Setting, such as training.batch → its values as TOML; bare words are text."
    )
    measure: str = Field("", description="The measure of the table and the plot; empty: the recipe's that decides.")

    @model_validator(mode="after")
    def _can_be_run(self) -> Self:
        count = prod(len(values) for values in self.over.values())
        if not 0 < count <= MOST:
            raise ValueError(f"{count} variants; needed between 1 and {MOST}, every combination is a run of its own")
        names = [variant.recipe.name for variant in self.variants]
        if len(set(names)) < len(names):
            raise ValueError(f"two variants would have one name: {', '.join(sorted(names))}; values are too alike")
        return self

    @property
    def variants(self) -> list[Variant]:
        """Every combination of the values, the last setting changing fastest."""
        return [self._variant(dict(zip(self.over, values, strict=True))) for values in product(*self.over.values())]

    def _variant(self, values: dict[str, str]) -> Variant:
        document = self.recipe.model_dump(mode="json")
        for key, value in values.items():
            override(document, f"{key}={value}")
        document["name"] = _name(self.name, values)
        try:
            return Variant(values=values, recipe=Recipe.model_validate(document))
        except ValidationError as error:
            raise ValueError(
                f"{', '.join(f'{key}={value}' for key, value in values.items())}: {problems(error)}"
            ) from error


def sweep_of(path: Path, over: list[str], changes: list[str], measure: str = "") -> Sweep:
    """A sweep as the command line asks for it.

    Args:
        path: The recipe.
        over: `KEY=VALUE,VALUE,…` each; values as in TOML, bare words are text.
        changes: `KEY=VALUE` that hold for all variants.
        measure: The measure of the table; empty: the recipe's that decides.

    Raises:
        ValueError: A setting has no value, comes twice, or a variant cannot be used; the message names it.
    """
    settings = dict(_values(text) for text in over)
    if not over or len(settings) < len(over):
        said = "a setting comes twice; give all its values at once" if over else "nothing varies; name a setting"
        raise ValueError(f"{said}: --over KEY=VALUE,VALUE,…, for example --over seed=0,1,2")
    recipe = load_recipe(path, changes)
    try:
        return Sweep(name=recipe.name, recipe=recipe, over=settings, measure=measure)
    except ValidationError as error:
        raise ValueError(f"--over: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from error


def _values(text: str) -> tuple[str, list[str]]:
    key, equals, listed = text.partition("=")
    values = _split(listed.strip()) if equals and key.strip() else []
    if not values:
        raise ValueError(f"--over {text!r}: needs KEY=VALUE,VALUE,…, for example --over training.batch=4,16,64")
    return key.strip(), values


def _split(listed: str) -> list[str]:
    """Values as TOML where they are TOML (lists keep their commas), else what stands between commas."""
    try:
        return [_as_toml(value) for value in tomllib.loads(f"values = [{listed}]")["values"]]
    except tomllib.TOMLDecodeError:
        return [part.strip() for part in listed.split(",") if part.strip()]


def _as_toml(value: Any) -> str:
    return tomli_w.dumps({"v": value}).partition("=")[2].strip()


def _name(name: str, values: dict[str, str]) -> str:
    """`sample-batch4-seed1`: the recipe, then the last part of each setting with its value."""
    plain = {key: re.sub(r"[^A-Za-z0-9._]+", "_", value).strip("_") for key, value in values.items()}
    return "-".join([name, *(f"{key.rpartition('.')[2]}{value}" for key, value in plain.items())])
