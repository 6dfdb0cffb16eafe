"""Settings as TOML that a recipe can be made of."""

from collections.abc import Mapping
from typing import Any

import tomli_w


def as_toml(settings: Mapping[str, Any]) -> str:
    """Write settings as TOML; what is not set is left out."""
    return tomli_w.dumps(_set(settings))


def _set(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _set(each) for name, each in value.items() if each is not None}
    return [_set(each) for each in value] if isinstance(value, list | tuple) else value
