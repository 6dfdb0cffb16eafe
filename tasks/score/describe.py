"""What a teacher's folder says of itself, read without loading the model."""

import json
from pathlib import Path
from typing import Any

from models.folder import parts
from tasks.refs import TeacherRef


def describe(teacher: TeacherRef) -> dict[str, Any]:
    """Facts for the table `models`: activation, maximum length, prompts, path, calibration.

    An ensemble has only the last two: each of its members is a row of its own.
    """
    if teacher.members:
        return {"path": str(teacher.path), "a": teacher.a, "b": teacher.b}
    folder = teacher.path / "folds" / "0" if (teacher.path / "teacher.json").exists() else teacher.path
    return {
        "activation": _activation(folder),
        "max_length": teacher.max_length or _max_length(folder),
        "prompts": _read(folder / "config_sentence_transformers.json").get("prompts"),
        "path": str(teacher.path),
        "a": teacher.a,
        "b": teacher.b,
    }


def _activation(folder: Path) -> str:
    """The activation that `CrossEncoder.predict` would apply; recorded, never applied to stored logits."""
    named = _read(folder / "config_sentence_transformers.json").get("activation_fn")
    config = _read(parts(folder)[0].folder / "config.json")
    older = config.get("sentence_transformers", {}).get("activation_fn")
    oldest = config.get("sbert_ce_default_activation_function")
    found = named or older or oldest or _default_activation(config)
    return str(found).rpartition(".")[2]


def _default_activation(config: dict[str, Any]) -> str:
    """What sentence-transformers takes where a folder names none; a file that lists no labels has two."""
    answers = str((config.get("architectures") or [""])[0]).endswith("ForCausalLM")
    return "Sigmoid" if answers or len(config.get("id2label", "01")) == 1 else "Identity"


def _max_length(folder: Path) -> int | None:
    """The smallest of the limits that the folder states, in tokens."""
    limits = [
        _read(folder / "sentence_bert_config.json").get("max_seq_length"),
        _read(folder / "tokenizer_config.json").get("model_max_length"),
        _read(folder / "config.json").get("max_position_embeddings"),
    ]
    return min((int(limit) for limit in limits if limit), default=None)


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found
