"""Settings from the command line (`--set key=value`), and what is wrong with settings in words."""

import tomllib
from typing import Any

from pydantic import ValidationError


def override(document: dict[str, Any], change: str) -> None:
    """Apply one `key=value` to a document: a dotted key, and a TOML value or a bare word.

    Raises:
        ValueError: It has no such form, or goes through a value.
    """
    key, equals, text = change.partition("=")
    if not equals or not key.strip():
        raise ValueError(f"--set {change!r}: needs key=value, for example --set training.steps=200")
    *parents, last = key.strip().split(".")
    table = document
    for parent in parents:
        inner = table.setdefault(parent, {})
        if not isinstance(inner, dict):
            raise ValueError(f"--set {change!r}: {parent!r} is a value in the recipe, not a section")
        table = inner
    table[last] = _value(text.strip())


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def problems(error: ValidationError) -> str:
    """What is wrong with settings, a line each."""
    return "\n".join(f"  {_where(item['loc'])}: {item['msg']} (got {_short(item)})" for item in error.errors())


def _where(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "recipe"


def _short(item: Any) -> str:
    text = repr(item.get("input"))
    return text if len(text) <= 60 else text[:57] + "..."
