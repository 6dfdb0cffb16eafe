"""Which folders cannot be teachers: those whose every score would be noise."""

from pathlib import Path
from typing import Any

import torch

from models.folder import parts
from models.runtime import quiet


def refuse_many_labels(path: Path, model: Any) -> None:
    """Refuse a CrossEncoder of three labels or more."""
    if model.num_labels not in (1, 2):
        raise ValueError(
            f"{path}: the model has {model.num_labels} labels; a teacher needs one (relevance) or two (no, yes), "
            "because which of more labels means relevant cannot be told"
        )


def refuse_unworded(path: Path, model: Any) -> None:
    """Refuse a language model whose yes and no are one token: where a tokenizer lacks the words, both are unknown."""
    for module in model:
        if type(module).__name__ != "LogitScore" or module.false_token_id is None:
            continue
        if module.true_token_id == module.false_token_id:
            token = model.tokenizer.convert_ids_to_tokens(module.true_token_id)
            raise ValueError(
                f"{path}: the tokens for yes and no are the same, {token!r}, so every score would be 0; a language "
                "model is a teacher where its LogitScore module names two tokens, or its tokenizer has 'yes' and 'no'"
            )


def refuse_unpadded(path: Path, model: Any) -> None:
    """Refuse a tokenizer that cannot fill up a batch."""
    if model.tokenizer.pad_token_id is None:
        raise ValueError(
            f"{path}: the tokenizer has no padding token, so inputs of different length make no batch; set its "
            "pad_token (a language model's end of text will do) and save it"
        )


def refuse_untrained_head(path: Path, model: Any) -> None:
    """Refuse weights that loading drew at random because the checkpoint has none."""
    from safetensors import safe_open

    folder = parts(path)[0].folder
    stored: set[str] = set()
    for file in folder.glob("*.safetensors"):
        with safe_open(str(file), "pt") as tensors:
            stored |= set(tensors.keys())
    if set(model[0].model.state_dict()) <= stored:
        return
    missing = _missing_weights(folder, type(model[0].model))
    if missing:
        raise ValueError(
            f"{path}: the checkpoint has no {', '.join(missing[:4])}: its classification head would be random numbers "
            "and so would every score; a teacher needs a trained cross-encoder (or a recipe with [teach])"
        )


def _missing_weights(folder: Path, kind: Any) -> list[str]:
    """Ask the library itself, which knows old names of weights and those that are shared."""
    with torch.random.fork_rng(), quiet():
        _, report = kind.from_pretrained(str(folder), output_loading_info=True, local_files_only=True)
    return sorted(report["missing_keys"])
