"""Settings from files and the command line (`--set key=value`), and what is wrong with settings in words."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError


def read_settings(path: Path, overrides: list[str], hint: str) -> dict[str, Any]:
    """Read a TOML file of settings, named after itself unless it says otherwise, and apply `key=value` overrides.

    Args:
        path: The file.
        overrides: Dotted keys, TOML values; bare words are text.
        hint: Where there is no such file, what it is and how one comes by it.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is not TOML, or an override has no such form.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: {hint}")
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file: {error}") from error
    for change in overrides:
        override(document, change)
    document.setdefault("name", path.stem)
    return document


def override(document: dict[str, Any], change: str, option: str = "--set", example: str = "training.steps=200") -> None:
    """Apply one `key=value` to a document: a dotted key, and a TOML value or a bare word.

    Args:
        document: Changed in place.
        change: The change.
        option: Which option it was given with.
        example: One that works, for whoever gave something else.

    Raises:
        ValueError: It has no such form, or goes through a value.
    """
    key, equals, text = change.partition("=")
    if not equals or not key.strip():
        raise ValueError(f"{option} {change!r}: needs key=value, for example {option} {example}")
    *parents, last = key.strip().split(".")
    table = document
    for parent in parents:
        inner = table.setdefault(parent, {})
        if not isinstance(inner, dict):
            raise ValueError(f"{option} {change!r}: {parent!r} is a value in the recipe, not a section")
        table = inner
    table[last] = _value(text.strip())


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def problems(error: ValidationError) -> str:
    """What is wrong with settings, a line each."""
    return "\n".join(f"  {_where(item['loc'])}: {_said(item)}" for item in error.errors())


def _said(item: Any) -> str:
    message = item["msg"].removeprefix("Value error, ")
    # What a rule about several settings says names them; all that stands beside them would hide it.
    return message if isinstance(item.get("input"), (dict, BaseModel)) else f"{message} (got {_short(item)})"


def _where(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "recipe"


def _short(item: Any) -> str:
    text = repr(item.get("input"))
    return text if len(text) <= 60 else text[:57] + "..."
