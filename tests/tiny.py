"""Tiny models, built offline: a two-layer BERT with its own small WordPiece tokenizer."""

from pathlib import Path
from typing import Any

import torch

WORDS = [
    "the",
    "a",
    "of",
    "in",
    "to",
    "is",
    "and",
    "how",
    "what",
    "open",
    "read",
    "write",
    "file",
    "list",
    "dict",
    "sort",
    "filter",
    "group",
    "join",
    "table",
    "row",
    "column",
    "red",
    "blue",
    "green",
    "cat",
    "dog",
    "house",
    "tree",
    "river",
    "number",
    "string",
    "date",
    "time",
    "count",
    "sum",
    "mean",
    "plot",
    "print",
    "loop",
    "index",
    "query",
    "passage",
    "model",
    "train",
    "score",
    "rank",
    "first",
    "last",
    "new",
    "old",
    "long",
    "short",
    "fast",
    "slow",
    "big",
    "small",
]
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)] + [str(digit) for digit in range(10)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
POSITIONS = 64


def tiny_tokenizer(max_length: int = POSITIONS) -> Any:
    """Make a WordPiece tokenizer over a few words, letters and their continuations."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertTokenizerFast

    pieces = [*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS, *".,?!()[]-"]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    backend = BertWordPieceTokenizer(vocab=vocabulary, lowercase=True)
    return BertTokenizerFast(
        tokenizer_object=backend._tokenizer,
        model_max_length=max_length,
        **{
            name: f"[{name[:-6].upper()}]"
            for name in ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
        },
    )


def tiny_config(**changes: Any) -> Any:
    """Describe the two-layer BERT (hidden size 32); `changes` go into its configuration."""
    from transformers import BertConfig

    size = len(tiny_tokenizer())
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    return BertConfig(vocab_size=size, max_position_embeddings=POSITIONS, initializer_range=0.2, **shape, **changes)


def make_encoder(path: Path, seed: int = 0) -> Path:
    """Write the bare transformer with its tokenizer, without any head."""
    from transformers import BertModel

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertModel(tiny_config())
    model.save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


def make_student(
    path: Path,
    seed: int = 0,
    prompts: dict[str, str] | None = None,
    similarity: str = "cosine",
    normalize: bool = True,
    max_length: int = POSITIONS,
) -> Path:
    """Write a SentenceTransformer folder: the tiny BERT, mean pooling, and Normalize if asked for."""
    from sentence_transformers import SentenceTransformer, models

    transformer = models.Transformer(str(make_encoder(path.with_name(path.name + "-encoder"), seed)))
    transformer.max_seq_length = max_length
    modules = [transformer, models.Pooling(transformer.get_embedding_dimension(), "mean")]
    model = SentenceTransformer(
        modules=[*modules, models.Normalize()] if normalize else modules,
        device="cpu",
        prompts=prompts,
        similarity_fn_name=similarity,
    )
    model.save_pretrained(str(path), create_model_card=False)
    return path


def make_teacher(path: Path, seed: int = 0, labels: int = 1, max_length: int = POSITIONS) -> Path:
    """Write a CrossEncoder folder with a trained-looking head of one or two labels."""
    from sentence_transformers import CrossEncoder
    from transformers import BertForSequenceClassification

    encoder = path.with_name(path.name + "-encoder")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        BertForSequenceClassification(tiny_config(num_labels=labels)).save_pretrained(encoder)
    tiny_tokenizer(max_length).save_pretrained(encoder)
    CrossEncoder(str(encoder), device="cpu", max_length=max_length).save_pretrained(str(path), create_model_card=False)
    return path


CHAT = """{%- set told = messages | selectattr("role", "eq", "system") | map(attribute="content") | first -%}
<|start|>Is the document an answer? yes or no<|end|>
<Instruct>: {{ told | default("Find the answer") }}
<Query>: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
<Document>: {{ messages | selectattr("role", "eq", "document") | map(attribute="content") | first }}<|end|>
<|start|>
answer: """


def tiny_bytes(chat: str | None = CHAT, max_length: int = 160) -> Any:
    """Train a byte-level BPE tokenizer, whose tokens reach over the borders of words, with `yes` and `no`."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    marks = ["<|pad|>", "<|start|>", "<|end|>"]
    backend = ByteLevelBPETokenizer()
    texts = [*sentences(300, seed=8), *(["yes no yes no answer"] * 50)]
    backend.train_from_iterator(texts, vocab_size=500, special_tokens=marks, show_progress=False)
    made = PreTrainedTokenizerFast(
        tokenizer_object=backend._tokenizer, pad_token=marks[0], eos_token=marks[2], model_max_length=max_length
    )
    made.add_tokens(["yes", "no"])
    made.chat_template = chat
    return made


def make_language_teacher(
    path: Path, seed: int = 0, chat: str | None = CHAT, prompt: str | None = None, max_length: int = 160
) -> Path:
    """Write a CrossEncoder folder of a two-layer Qwen3 that answers yes or no; its head is its embeddings."""
    from sentence_transformers import CrossEncoder
    from transformers import Qwen3Config, Qwen3ForCausalLM

    bare, tokenizer = path.with_name(path.name + "-bare"), tiny_bytes(chat, max_length)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=max_length,
        initializer_range=0.2,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        **shape,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        Qwen3ForCausalLM(config).save_pretrained(bare)
    tokenizer.save_pretrained(bare)
    prompts = {"prompts": {"find": prompt}, "default_prompt_name": "find"} if prompt else {}
    CrossEncoder(str(bare), device="cpu", **prompts).save_pretrained(str(path), create_model_card=False)
    return path


def sentences(count: int, seed: int = 0, shortest: int = 1, longest: int = 20) -> list[str]:
    """Write random texts of mixed length from the tiny vocabulary, and a few letters it has to spell."""
    drawing = torch.Generator().manual_seed(seed)
    texts = []
    for _ in range(count):
        length = int(torch.randint(shortest, longest + 1, (1,), generator=drawing))
        chosen = torch.randint(0, len(WORDS), (length,), generator=drawing).tolist()
        spelled = "".join(LETTERS[int(code)] for code in torch.randint(0, 26, (3,), generator=drawing))
        texts.append(" ".join([*(WORDS[number] for number in chosen), spelled]))
    return texts
