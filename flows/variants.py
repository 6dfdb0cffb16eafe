"""Variants of a recipe: every combination of the values that some settings are to take."""

import re
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import Field

from flows.recipe import Named, Recipe, load_recipe
from tasks.settings import Settings

MOST = 200


class Variant(Settings):
    """One combination of values."""

    values: dict[str, str] = Field(description="Setting → its value, as TOML.")
    recipe: Recipe


class Sweep(Named):
    """A recipe in several variants, run one after the other into one warehouse."""

    variants: list[Variant] = Field(min_length=1)
    measure: str = Field(description="The measure of the table and the plot.")


def sweep_of(path: Path, over: list[str], changes: list[str], measure: str = "") -> Sweep:
    """All combinations of the values, the last setting changing fastest.

    Args:
        path: The recipe.
        over: `KEY=VALUE,VALUE,…` each; values as in TOML, bare words are text.
        changes: `KEY=VALUE` that hold for all variants.
        measure: The measure of the table; empty: the recipe's that decides.
        measure: The measure of the table; empty: the recipe's that decides.

    Raises:
        ValueError: A setting has no value, comes twice, or a variant cannot be used; the message names it.
    """
    settings = dict(_values(text) for text in over)
    if len(settings) < len(over):
        raise ValueError("--over: a setting comes twice; give all its values at once, --over seed=0,1,2")
    combinations = list(product(*settings.values()))
    count = len(combinations) if over else 0
    if not 0 < count <= MOST:
        raise ValueError(
            f"{count} variants; needed between 1 and {MOST}: --over KEY=VALUE,VALUE,… names the settings, and every "
            "combination of their values is a run of its own"
        )
    name = load_recipe(path, changes).name
    variants = []
    for values in combinations:
        named = dict(zip(settings, values, strict=True))
        own = [f"{key}={value}" for key, value in named.items()]
        recipe = load_recipe(path, [*changes, *own, f'name="{_name(name, named)}"'])
        variants.append(Variant(values=named, recipe=recipe))
    names = [variant.recipe.name for variant in variants]
    if len(set(names)) < len(names):
        raise ValueError(f"two variants would have one name: {', '.join(sorted(names))}; their values are too alike")
    return Sweep(name=name, variants=variants, measure=measure or variants[0].recipe.evaluation.measure)


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
