"""Settings as TOML that a recipe can be made of."""

import json
from collections.abc import Mapping
from typing import Any


def as_toml(settings: Mapping[str, Any]) -> str:
    """Write settings as TOML: plain values first, then a section per part; what is not set is left out."""
    lines = [f"{name} = {_value(value)}" for name, value in settings.items() if _is_plain(value)]
    for name, part in settings.items():
        if isinstance(part, Mapping):
            lines += ["", f"[{_key(name)}]"]
            lines += [f"{_key(key)} = {_value(value)}" for key, value in part.items() if value is not None]
    return "\n".join(lines) + "\n"


def _is_plain(value: Any) -> bool:
    return value is not None and not isinstance(value, Mapping)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(name)} = {_value(each)}" for name, each in value.items() if each is not None)
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(each) for each in value)}]"
    # JSON's texts, numbers and truth values are TOML's, but for one control character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else _value(name)
