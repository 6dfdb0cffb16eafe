"""How large a model is, read from its files without loading it."""

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path

from models.folder import parts, read_json


@dataclass(frozen=True)
class Size:
    """A student's size.

    Attributes:
        bytes: Of its folder as it is saved: weights in float32, tokenizer and settings.
        dimension: Numbers per vector.
    """

    bytes: int
    dimension: int


def size_of(path: Path) -> Size:
    """Read a student's size from its folder.

    Raises:
        FileNotFoundError: It is no model's folder.
        ValueError: No module says how many numbers a vector has.
    """
    total, dimension = 0, 0
    for part in {part.folder: part for part in parts(path)}.values():
        total += 4 * sum(map(_numbers, part.weights))
        total += sum(file.stat().st_size for name in ("*.json", "*.txt") for file in part.folder.glob(name))
        config = read_json(part.folder / "config.json")
        dimension = int(config.get("out_features") or config.get("hidden_size") or dimension)
    if not dimension:
        raise ValueError(f"{path}: no module's config.json tells hidden_size, so vectors have no known length")
    return Size(total, dimension)


def _numbers(file: Path) -> int:
    with file.open("rb") as stream:
        header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    return sum(prod(about["shape"]) for name, about in header.items() if name != "__metadata__")
