"""Which folders cannot be used: those whose every score would be noise, or whose longer inputs would fail."""

from pathlib import Path
from typing import Any

import torch

from models.folder import parts
from models.runtime import quiet

POSITIONS = ("position_embeddings", "wpe", "embed_positions")


def refuse_many_labels(path: Path, model: Any) -> None:
    """Refuse a CrossEncoder of three labels or more."""
    if model.num_labels not in (1, 2):
        raise ValueError(
            f"{path}: the model has {model.num_labels} labels; a teacher needs one (relevance) or two (no, yes), "
            "because which of more labels means relevant cannot be told"
        )


def refuse_beyond_positions(path: Path, model: Any, max_length: int) -> None:
    """Refuse inputs longer than the positions that a model has learned.

    Positions that are computed (rotary, relative) have no end to run over.

    Args:
        path: The folder, for the message.
        model: The model, whose tables of positions are looked for by their names.
        max_length: Tokens in an input that may come.

    Raises:
        ValueError: A longer input would fail in the midst of its work.
    """
    for name, module in model.named_modules():
        if name.rpartition(".")[2] not in POSITIONS or not isinstance(module, torch.nn.Embedding):
            continue
        # RoBERTa and its kin count positions from the one after the padding's, BART and OPT from an offset.
        before = module.padding_idx + 1 if module.padding_idx is not None else int(getattr(module, "offset", 0))
        places = module.num_embeddings - before
        if max_length > places:
            raise ValueError(
                f"{path}: inputs may have {max_length} tokens, and the model has {places} positions; longer ones would "
                f"fail in the midst of the work. Say max_length = {places} or less"
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
