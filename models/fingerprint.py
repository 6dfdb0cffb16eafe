"""A model is the fingerprint of what it computes: weights, tokenizer, pooling, prompts, similarity, maximum length."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

from models.folder import Part, parts, read_json, refuse_pickles

# Left out of config.json: who wrote it, where it came from, how it is run.
_NOISE = {
    "_commit_hash", "_name_or_path", "architectures", "auto_map", "dtype", "finetuning_task", "gradient_checkpointing",
    "id2label", "label2id", "sbert_ce_default_activation_function", "sentence_transformers", "torch_dtype",
    "tie_word_embeddings", "transformers_version", "use_cache", "_attn_implementation",
}  # fmt: skip
_FALSE_IF_ABSENT = {"add_cross_attention", "do_lower_case", "is_decoder"}
_LENGTHS = ("processing_kwargs", "query_length", "document_length", "query_expansion", "do_lower_case")
_VOCABULARIES = ("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
_POOLINGS = {
    "cls_token": "cls", "max_tokens": "max", "mean_tokens": "mean", "mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "weightedmean_tokens": "weightedmean", "lasttoken": "lasttoken",
}  # fmt: skip


def fingerprint_folder(path: Path) -> str:
    """Name a model by what it computes, with 32 hexadecimal digits (128-bit BLAKE2b).

    The same in every process and on every machine; independent of how tensors are spread over files and
    of metadata, model cards, library versions and a folder's name. It changes with every weight, the
    tokenizer, the modules and their settings, prompts, similarity and maximum length.

    Raises:
        ValueError: Weights are there only as pickles, or a file is damaged.
        FileNotFoundError: It is no model's folder.
    """
    refuse_pickles(path)
    model = read_json(path / "config_sentence_transformers.json")
    content = {
        "modules": [_module(part) for part in parts(path)],
        "prompts": {name: text for name, text in model.get("prompts", {}).items() if text},
        "default_prompt": model.get("default_prompt_name"),
        "similarity": model.get("similarity_fn_name") or "cosine",
        "truncate_dim": model.get("truncate_dim"),
    }
    return blake2b(_canonical(content).encode("utf-8"), digest_size=16).hexdigest()


def _module(part: Part) -> dict[str, Any]:
    content: dict[str, Any] = {"kind": part.kind, "tensors": _tensors(part.weights)}
    if part.route:
        content["route"] = part.route
    config = read_json(part.folder / "config.json")
    if "auto_map" in config:
        content["code"] = _code(part.folder)
    if part.kind == "Transformer":
        return {**content, "config": _kept(config), **_text_side(part.folder, config)}
    if part.kind == "Pooling":
        return {**content, "pooling": _pooling(config), "include_prompt": config.get("include_prompt", True)}
    features = {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}
    return {**content, "config": {key: value for key, value in _kept(config).items() if features.get(key) != value}}


def _text_side(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """What turns a text into token ids: the tokenizer and where it cuts."""
    settings = read_json(folder / "sentence_bert_config.json")
    tokenizer = read_json(folder / "tokenizer_config.json")
    positions = [tokenizer.get("model_max_length"), config.get("max_position_embeddings")]
    known = [int(length) for length in positions if length is not None and length > 0]
    return {
        "max_length": settings.get("max_seq_length") or min(known, default=None),
        "tokenizer": _tokenizer(folder),
        "padding_side": tokenizer.get("padding_side", "right"),
        "truncation_side": tokenizer.get("truncation_side", "right"),
        "chat_template": tokenizer.get("chat_template") or _chat_template(folder),
        "settings": _kept({key: settings.get(key) for key in _LENGTHS}),
    }


def _code(folder: Path) -> dict[str, str]:
    """Hash the Python files of a model that brings its own."""
    files = sorted(folder.glob("*.py"))
    return {file.name: blake2b(file.read_bytes(), digest_size=16).hexdigest() for file in files}


def _chat_template(folder: Path) -> str | None:
    """The template as newer versions of transformers store it, in a file of its own."""
    file = folder / "chat_template.jinja"
    return file.read_text(encoding="utf-8") if file.is_file() else None


def _tokenizer(folder: Path) -> str:
    """Hash the tokenizer, without the truncation and padding that every call sets anew."""
    whole = read_json(folder / "tokenizer.json")
    if whole:
        rest = {key: value for key, value in whole.items() if key not in ("truncation", "padding", "version")}
        return blake2b(_canonical(rest).encode("utf-8"), digest_size=16).hexdigest()
    files = [folder / name for name in _VOCABULARIES if (folder / name).is_file()]
    if not files:
        raise ValueError(f"{folder}: there is neither a tokenizer.json nor a vocabulary, so texts cannot become tokens")
    digest = blake2b(digest_size=16)
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _pooling(config: dict[str, Any]) -> list[str]:
    """Read the pooling modes in either of the two forms that folders have."""
    modes = config.get("pooling_mode")
    if modes is not None:
        return sorted([modes] if isinstance(modes, str) else modes)
    return sorted(mode for key, mode in _POOLINGS.items() if config.get(f"pooling_mode_{key}"))


def _tensors(files: list[Path]) -> str:
    """Hash name, type, shape and bytes of every tensor, in the order of their names."""
    places: dict[str, tuple[Path, int, int, dict[str, Any]]] = {}
    for file in files:
        with file.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(size))
        for name, about in header.items():
            if name != "__metadata__" and not name.endswith("position_ids"):  # a constant that old files store
                start, stop = about["data_offsets"]
                places[name] = (file, 8 + size + start, stop - start, about)
    digest = blake2b(digest_size=16)
    for name in sorted(places):
        file, offset, length, about = places[name]
        digest.update(_canonical([name, about["dtype"], about["shape"]]).encode("utf-8"))
        with file.open("rb") as stream:
            stream.seek(offset)
            while length > 0:
                block = stream.read(min(length, 1 << 22))
                if not block:
                    raise ValueError(f"{file}: the file ends {length} bytes before the end of tensor {name!r}")
                digest.update(block)
                length -= len(block)
    return digest.hexdigest()


def _kept(values: dict[str, Any]) -> dict[str, Any]:
    """Drop noise, and what newer versions of the library write out though it is unset."""
    return {
        key: value
        for key, value in values.items()
        if key not in _NOISE and value is not None and not (key in _FALSE_IF_ABSENT and value is False)
    }


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
