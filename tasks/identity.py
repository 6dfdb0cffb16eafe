"""Fingerprints: the same thing has the same name in every process, on every day."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pydantic import BaseModel


def canonical(value: Any) -> str:
    """Write a value as canonical JSON: sorted keys, no spaces, floats by their shortest form.

    Raises:
        TypeError: The value holds something without one JSON form (a set, an object, a NaN),
            which would give another fingerprint in another process.
    """
    try:
        return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise TypeError(f"a fingerprint needs finite numbers: {error}") from error


def fingerprint(*parts: Any) -> str:
    """Hash values to 32 hexadecimal digits (128-bit BLAKE2b of their canonical JSON)."""
    return blake2b(canonical(list(parts)).encode("utf-8"), digest_size=16).hexdigest()


def file_fingerprint(path: Path) -> str:
    """Hash a file's bytes to 32 hexadecimal digits."""
    digest = blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(mode="json"))
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"a fingerprint needs text keys, got {sorted(map(repr, value))}")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a fingerprint cannot hold {type(value).__name__} {value!r}: it has no canonical form")
