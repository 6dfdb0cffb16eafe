"""The student: a bi-encoder that gives queries and passages vectors of one space."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from models.batching import ahead, full_chunks, pad
from models.folder import refuse_pickles
from models.refusals import refuse_beyond_positions
from models.routes import Side, refuse_unfit, towers_of, with_normalize
from models.runtime import Runtime, quiet
from models.tower import Tower
from models.wrapped import PROBES, Tick, Wrapped

WINDOW = 16384
PASSAGE_NAMES = ("document", "passage", "corpus")


@dataclass(frozen=True)
class Encoded:
    """Vectors of texts and what they cost.

    Attributes:
        vectors: (N, d) float32, row i for text i; unit length where the similarity is cosine.
        n_tokens: Tokens that the transformer read, special tokens included, padding not.
        truncated: Texts that were longer than the model's maximum length.
    """

    vectors: NDArray[np.float32]
    n_tokens: int
    truncated: int


class Student(Wrapped):
    """A SentenceTransformer, read by token lists so that training and inference choose their own batches.

    Queries and passages go through the same tower, or, where the model begins with a Router, each through its own.

    Attributes:
        model: The SentenceTransformer, weights in float32.
        runtime: Device, precision and threads.
        tower: Who reads queries, and who reads passages.
        query_prompt: Put before every query, in training, mining, evaluation and serving alike.
        passage_prompt: Put before every passage.
    """

    def __init__(self, model: Any, runtime: Runtime) -> None:
        sides = towers_of(model, runtime)
        super().__init__(model, runtime, list(dict.fromkeys(sides.values())))
        self.tower = sides
        self.query_prompt = _prompt(model, ["query"])
        self.passage_prompt = _prompt(model, PASSAGE_NAMES)

    @classmethod
    def load(
        cls,
        path: Path,
        runtime: Runtime,
        max_length: int | None = None,
        prompts: Mapping[str, str] | None = None,
        trust_remote_code: bool = False,
    ) -> Self:
        """Load a SentenceTransformer folder.

        Args:
            path: The folder.
            runtime: Where to compute.
            max_length: Tokens kept of a text; None keeps the folder's own limit.
            prompts: Overrides for "query" and "passage"; None keeps the folder's.
            trust_remote_code: Run Python code that the folder brings.

        Raises:
            ValueError: The folder's model cannot be a student: another similarity than cosine or dot, preprocessing
                other than plain tokenisation, code of its own without trust, fewer positions than the length.
        """
        from sentence_transformers import SentenceTransformer

        refuse_pickles(path)
        with quiet():
            local: Any = {"device": runtime.device, "local_files_only": True}
            model = SentenceTransformer(str(path), trust_remote_code=trust_remote_code, **local).float()
        model.eval()  # the library evaluates its modules only
        refuse_unfit(path, model)
        student = cls(with_normalize(model), runtime)
        for tower in student.towers:
            if max_length is not None:
                tower.first.max_seq_length = max_length
            refuse_beyond_positions(path, tower.first, tower.max_length)
        student._set_prompts(prompts or {})
        student._refuse_other_tokens(path)
        return student

    @property
    def similarity(self) -> Literal["cosine", "dot"]:
        """How two vectors are compared; with cosine they are already of unit length."""
        return "cosine" if self.model.similarity_fn_name == "cosine" else "dot"

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return int(self.model.get_embedding_dimension())

    @property
    def max_length(self) -> int:
        """Tokens kept of a passage, special tokens included; of a query too where both share a tower."""
        return self.tower["passage"].max_length

    def query_text(self, text: str) -> str:
        """Write a query as the model reads it."""
        return self.query_prompt + text

    def passage_text(self, text: str) -> str:
        """Write a passage as the model reads it."""
        return self.passage_prompt + text

    def tokenize_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Turn queries into token lists: prompt and special tokens included, cut at the maximum length."""
        return self._tokenize("query", [self.query_text(text) for text in texts])[0]

    def tokenize_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Turn passages into token lists: prompt and special tokens included, cut at the maximum length."""
        return self._tokenize("passage", [self.passage_text(text) for text in texts])[0]

    def embed(self, tokens: Sequence[Sequence[int]], side: Side = "passage") -> Tensor:
        """Give token lists vectors, with gradient and in the runtime's precision.

        Args:
            tokens: N token lists, padded here to the longest.
            side: Whose tower reads them, where queries and passages have one each.

        Returns:
            (N, d) float32 on the runtime's device; of unit length where the similarity is cosine.
        """
        tower = self.tower[side]
        return self._finish(tower, self._learn(tower, self._features(tower, tokens), [len(row) for row in tokens]))

    def scores(self, queries: Tensor, passages: Tensor, dimension: int | None = None) -> Tensor:
        """Compare vectors that `embed` made, or their first numbers: (B, d) and (N, d) give (B, N) similarities.

        Args:
            queries: (B, d) float32.
            passages: (N, d) float32.
            dimension: Numbers that count; shortened vectors are of unit length again where the similarity is cosine.
        """
        if dimension is not None:
            queries, passages = queries[:, :dimension], passages[:, :dimension]
            if self.similarity == "cosine":
                queries, passages = functional.normalize(queries), functional.normalize(passages)
        return queries @ passages.T

    def encode_queries(
        self, texts: Sequence[str], batch_tokens: int | None = None, tick: Tick | None = None
    ) -> Encoded:
        """Give queries vectors, in the order of the texts.

        Args:
            texts: Queries without their prompt.
            batch_tokens: Padded tokens per batch; None takes what suits the device.
            tick: Told how many texts were done, after every batch.
        """
        return self._encode("query", [self.query_text(text) for text in texts], batch_tokens, tick)

    def encode_passages(
        self, texts: Sequence[str], batch_tokens: int | None = None, tick: Tick | None = None
    ) -> Encoded:
        """Give passages vectors, in the order of the texts.

        Args:
            texts: Passages without their prompt.
            batch_tokens: Padded tokens per batch; None takes what suits the device.
            tick: Told how many texts were done, after every batch.
        """
        return self._encode("passage", [self.passage_text(text) for text in texts], batch_tokens, tick)

    def save(self, path: Path) -> None:
        """Write a SentenceTransformer folder (safetensors) that gives the same vectors anywhere."""
        names = [name for name in PASSAGE_NAMES if name == "document" or name in self.model.prompts]
        passage = dict.fromkeys(names, self.passage_prompt)
        self.model.prompts = {**self.model.prompts, "query": self.query_prompt, **passage}
        with quiet():
            self.model.save_pretrained(str(path), create_model_card=False, safe_serialization=True)

    def _set_prompts(self, prompts: Mapping[str, str]) -> None:
        unknown = sorted(set(prompts) - {"query", "passage"})
        if unknown:
            raise ValueError(f"prompts {unknown} are unknown; a student has one for 'query' and one for 'passage'")
        self.query_prompt = prompts.get("query", self.query_prompt)
        self.passage_prompt = prompts.get("passage", self.passage_prompt)

    def _refuse_other_tokens(self, path: Path) -> None:
        """Check on two texts that the library would read the very tokens that are made here."""
        shown: list[tuple[Side, str, str]] = [
            ("query", "query", self.query_text("How do red cats sleep?")),
            ("passage", "document", self.passage_text("A cat (felis catus), asleep.")),
        ]
        for side, task, text in shown:
            theirs = self.model.preprocess([text], task=task)
            read = theirs["input_ids"][0][theirs["attention_mask"][0].bool()].tolist()
            if [read] != self._tokenize(side, [text])[0]:
                raise ValueError(
                    f"{path}: the model's own preprocessing gives other tokens than its tokenizer (a chat template, "
                    "say); a student trained on these would not be the one that is exported"
                )

    def _tokenize(self, side: Side, texts: Sequence[str]) -> tuple[list[list[int]], int]:
        """Tokenise whole texts, so that their true length is known, and cut only those that are too long."""
        if not texts:
            return [], 0
        tower = self.tower[side]
        options = {"padding": False, "return_attention_mask": False, "return_token_type_ids": False, "verbose": False}
        rows = tower.tokenizer(list(texts), truncation=False, **options)["input_ids"]
        long = [number for number, row in enumerate(rows) if len(row) > tower.max_length]
        if long:
            some = [texts[number] for number in long]
            cut = tower.tokenizer(some, truncation=True, max_length=tower.max_length, **options)["input_ids"]
            for number, row in zip(long, cut, strict=True):
                rows[number] = row
        return rows, len(long)

    def _encode(self, side: Side, texts: list[str], batch_tokens: int | None, tick: Tick | None) -> Encoded:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        budget = self.runtime.batch_tokens if batch_tokens is None else batch_tokens
        n_tokens = truncated = 0
        tower = self.tower[side]
        with self._inference(tower) as first:
            for start, rows, cut in ahead(self._windows(side, texts), self.runtime.overlaps):
                lengths = [len(row) for row in rows]
                n_tokens, truncated = n_tokens + sum(lengths), truncated + cut
                for chunk in full_chunks(lengths, budget, self.runtime.width_multiple):
                    made = self._finish(tower, first(self._features(tower, [rows[number] for number in chunk])))
                    vectors[np.asarray(chunk) + start] = made.cpu().numpy()
                    if tick is not None:
                        tick(len(chunk))
        return Encoded(vectors, n_tokens, truncated)

    def _windows(self, side: Side, texts: list[str]) -> Iterator[tuple[int, list[list[int]], int]]:
        """Tokenise part by part, so that a large corpus is never held as tokens."""
        for start in range(0, len(texts), WINDOW):
            yield start, *self._tokenize(side, texts[start : start + WINDOW])

    def _features(self, tower: Tower, tokens: Sequence[Sequence[int]]) -> dict[str, Any]:
        tokenizer = tower.tokenizer
        ids, mask = pad(tokens, tokenizer.pad_token_id, tokenizer.padding_side, self.runtime.width_multiple)
        features: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in tokenizer.model_input_names:
            features["token_type_ids"] = torch.zeros_like(ids)
        features = {name: value.to(self.runtime.device, non_blocking=True) for name, value in features.items()}
        return {**features, "modality": "text"}

    def _probe(self, tower: Tower) -> tuple[Callable[[], dict[str, Any]], list[int]]:
        side: Side = "passage" if tower is self.tower["passage"] else "query"
        tokens = self._tokenize(side, list(PROBES))[0]
        return lambda: self._features(tower, tokens), [len(row) for row in tokens]

    def _finish(self, tower: Tower, features: dict[str, Any]) -> Tensor:
        """Run pooling and what follows in float32, whatever the transformer ran in."""
        features["token_embeddings"] = features["token_embeddings"].float()
        for module in tower.after:
            features = module(features)
        vectors: Tensor = features["sentence_embedding"]
        return vectors.float()


def _prompt(model: Any, names: Sequence[str]) -> str:
    """Take the first prompt that is not empty: libraries write out empty ones beside the author's."""
    return next((model.prompts[name] for name in names if model.prompts.get(name)), "")
