"""How large a model is and what its weights are called, read from its files without loading it."""

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from models.folder import Part, parts, read_json


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
    total = 0
    for part in {part.folder: part for part in parts(path)}.values():
        total += 4 * sum(map(_numbers, part.weights))
        total += sum(file.stat().st_size for name in ("*.json", "*.txt") for file in part.folder.glob(name))
    return Size(total, dimension_of(path))


def dimension_of(path: Path) -> int:
    """Read how many numbers a student's vectors have: what the last module that tells it says.

    Raises:
        FileNotFoundError: It is no model's folder.
        ValueError: No module says how many numbers a vector has.
    """
    found = next(filter(None, map(_dimension, reversed(parts(path)))), None)
    if found is None:
        raise ValueError(f"{path}: no module tells how many numbers its vectors have, so their length is not known")
    return found


def parameter_names(path: Path) -> set[str]:
    """Read what the files of a student's modules call its weights; a loaded model may put more in front.

    Raises:
        FileNotFoundError: It is no model's folder.
    """
    return {name for part in parts(path) for file in part.weights for name in _header(file)}


def _dimension(part: Part) -> int | None:
    """Numbers per vector behind a module, in whatever words its kind has for it; None where it leaves them as many."""
    if part.kind == "Dense":
        return int(read_json(part.folder / "config.json")["out_features"])
    if part.kind == "Pooling":
        from sentence_transformers.sentence_transformer.modules import Pooling

        return int(Pooling.load(str(part.folder)).pooling_output_dimension)
    if part.kind == "Transformer":
        from transformers import AutoConfig

        return int(AutoConfig.from_pretrained(part.folder).hidden_size)
    return None


def _numbers(file: Path) -> int:
    return sum(prod(about["shape"]) for about in _header(file).values())


def _header(file: Path) -> dict[str, Any]:
    """What a safetensors file says of its tensors, by name."""
    with file.open("rb") as stream:
        header: dict[str, Any] = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    return {name: about for name, about in header.items() if name != "__metadata__"}
