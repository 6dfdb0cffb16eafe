"""The teacher: a cross-encoder that reads a query and a passage together and gives one raw logit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.batching import ahead, full_chunks, pad
from models.folder import parts, refuse_pickles
from models.pairs import Pair, PairTokenizer, PairTokens
from models.refusals import (
    refuse_beyond_positions,
    refuse_many_labels,
    refuse_unpadded,
    refuse_untrained_head,
    refuse_unworded,
)
from models.runtime import Runtime, quiet
from models.tower import Tower
from models.wrapped import PROBES, Tick, Wrapped


class NonFiniteScore(ValueError):
    """A teacher gave NaN or infinity for a pair."""


@dataclass(frozen=True)
class Scores:
    """Raw logits of pairs, in their order, and what they cost.

    Attributes:
        logits: (N,) float32; with two labels, the second's logit minus the first's.
        n_tokens: (N,) int32, tokens of each input, special tokens included, padding not.
        truncated: (N,) bool, True where the passage was cut.
    """

    logits: NDArray[np.float32]
    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]


class Teacher(Wrapped):
    """A CrossEncoder of one or two labels, read by raw logits; its activation is recorded, never applied.

    Its logit may as well be a language model's: yes minus no at the place of its answer.

    Attributes:
        model: The CrossEncoder, weights in float32.
        runtime: Device, precision and threads.
        pairs: Makes its inputs; the query is never cut.
    """

    def __init__(self, model: Any, runtime: Runtime) -> None:
        super().__init__(model, runtime, [Tower(list(model), runtime)])
        first, prompt = model[0], model.prompts.get(model.default_prompt_name) or ""
        talks = "message" in first.modality_config
        answers = first.transformer_task in ("text-generation", "any-to-any")
        self._constant = {"modality": "message" if talks else "text", **({"logits_to_keep": 1} if answers else {})}
        self.pairs = PairTokenizer(
            model.tokenizer,
            int(model.max_seq_length),
            prompt="" if talks else prompt,
            read=partial(_read_messages, first, prompt) if talks else None,
        )

    @classmethod
    def load(cls, path: Path, runtime: Runtime, max_length: int | None = None, trust_remote_code: bool = False) -> Self:
        """Load a CrossEncoder folder.

        Args:
            path: The folder.
            runtime: Where to compute.
            max_length: Tokens in an input; None keeps the folder's own limit.
            trust_remote_code: Run Python code that the folder brings.

        Raises:
            ValueError: The folder has more than two labels, no trained classification head, no words for
                yes and no, or no place for a query and a passage, so that its scores would be noise; or it has
                fewer positions than the maximum length.
        """
        from sentence_transformers import CrossEncoder

        refuse_pickles(path)
        with quiet():
            model = CrossEncoder(
                str(path),
                device=runtime.device,
                max_length=max_length,
                trust_remote_code=trust_remote_code,
                local_files_only=True,
            ).float()
        refuse_many_labels(path, model)
        refuse_beyond_positions(path, model, int(model.max_seq_length))
        refuse_unworded(path, model)
        refuse_unpadded(path, model)
        refuse_untrained_head(path, model)
        model.eval()
        teacher = cls(model, runtime)
        teacher.assemble([("a query", "a passage")])  # a chat template without a place for both is refused here
        return teacher

    @classmethod
    def from_encoder(cls, path: Path, runtime: Runtime, seed: int, max_length: int | None = None) -> Self:
        """Start a teacher of one label from a bi-encoder's transformer; its head is new, drawn from the seed.

        Args:
            path: A SentenceTransformer folder, or a bare transformer's.
            runtime: Where to compute.
            seed: Seed of the new head.
            max_length: Tokens in an input; None keeps the folder's own limit.
        """
        from sentence_transformers import CrossEncoder
        from sentence_transformers.base.modules import Transformer

        options = {"local_files_only": True}
        with torch.random.fork_rng(), quiet():
            torch.manual_seed(seed)
            transformer = Transformer(
                str(parts(path)[0].folder),
                transformer_task="sequence-classification",
                model_kwargs=dict(options),
                processor_kwargs={**options, **({} if max_length is None else {"model_max_length": max_length})},
                config_kwargs={**options, "num_labels": 1},
            )
        model = CrossEncoder(modules=[transformer], device=runtime.device).float()
        model.eval()
        return cls(model, runtime)

    @property
    def max_length(self) -> int:
        """Tokens in an input, special tokens included."""
        return self.pairs.max_length

    @property
    def labels(self) -> int:
        """Outputs of the head, 1 or 2."""
        return int(self.model.num_labels)

    @property
    def activation(self) -> str:
        """Name of what `CrossEncoder.predict` puts on the logits by default; never applied here."""
        return type(self.model.activation_fn).__name__

    def score(self, pairs: Sequence[Pair], batch_tokens: int | None = None, tick: Tick | None = None) -> Scores:
        """Score (query, passage) pairs, in their order.

        Args:
            pairs: Texts of queries and passages.
            batch_tokens: Padded tokens per batch; None takes what suits the device.
            tick: Told how many pairs were done, after every batch.

        Raises:
            ValueError: A query alone fills the input.
            NonFiniteScore: A logit is NaN or infinite; the pair is named.
        """
        prepared = self.pairs.prepare(pairs)
        logits = np.empty(len(pairs), dtype=np.float32)
        budget = self.runtime.batch_tokens if batch_tokens is None else batch_tokens
        chunks = full_chunks(prepared.lengths.tolist(), budget, self.runtime.width_multiple)
        batches = ((chunk, self._features(prepared.inputs(chunk))) for chunk in chunks)
        (tower,) = self.towers
        with self._inference(tower) as first:
            for chunk, features in ahead(batches, self.runtime.overlaps):
                made = self._finish(tower, first(features)).cpu().numpy()
                _refuse_non_finite(made, [pairs[number] for number in chunk])
                logits[chunk] = made
                if tick is not None:
                    tick(len(chunk))
        return Scores(logits, prepared.lengths, prepared.truncated)

    def assemble(self, pairs: Sequence[Pair]) -> list[PairTokens]:
        """Turn pairs into inputs for `forward`; only passages are cut."""
        return self.pairs.prepare(pairs).inputs(range(len(pairs)))

    def forward(self, inputs: Sequence[PairTokens]) -> Tensor:
        """Give N inputs their logits, (N,) float32, with gradient and in the runtime's precision."""
        (tower,) = self.towers
        return self._finish(tower, self._learn(tower, self._features(inputs), [len(row.ids) for row in inputs]))

    def save(self, path: Path) -> None:
        """Write a CrossEncoder folder (safetensors).

        Its activation stays what it was (Sigmoid where none was set), so `CrossEncoder.predict` gives
        probabilities by default and these logits with `activation_fn=torch.nn.Identity()`.
        """
        with quiet():
            self.model.save_pretrained(str(path), create_model_card=False, safe_serialization=True)

    def _features(self, inputs: Sequence[PairTokens]) -> dict[str, Any]:
        tokenizer, multiple = self.model.tokenizer, self.runtime.width_multiple
        ids, mask = pad([row.ids for row in inputs], tokenizer.pad_token_id, tokenizer.padding_side, multiple)
        features: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in tokenizer.model_input_names:
            features["token_type_ids"], _ = pad([row.types for row in inputs], 0, tokenizer.padding_side, multiple)
        features = {name: value.to(self.runtime.device, non_blocking=True) for name, value in features.items()}
        return {**features, **self._constant}

    def _probe(self, tower: Tower) -> tuple[Callable[[], dict[str, Any]], list[int]]:
        inputs = self.assemble([(PROBES[0], text) for text in PROBES])
        return lambda: self._features(inputs), [len(row.ids) for row in inputs]

    def _finish(self, tower: Tower, features: dict[str, Any]) -> Tensor:
        """Run what follows the transformer in float32, whatever the transformer ran in."""
        name = tower.first.module_output_name
        features[name] = features[name].float()
        for module in tower.after:
            features = module(features)
        scores: Tensor = features["scores"].float()
        if scores.ndim == 1 or scores.shape[1] == 1:
            return scores.reshape(-1)
        return scores[:, 1] - scores[:, 0]


def _read_messages(transformer: Any, prompt: str, pairs: Sequence[Pair]) -> list[PairTokens]:
    """Read pairs as the model's own preprocessing writes them into its chat template, whole."""
    if not pairs:
        return []
    whole = {"text": {"padding": False, "truncation": False, "verbose": False}, "common": {"return_tensors": None}}
    made = transformer.preprocess([list(pair) for pair in pairs], prompt=prompt or None, processing_kwargs=whole)
    ids = [np.asarray(row, dtype=np.int32) for row in made["input_ids"]]
    types = made.get("token_type_ids") or [np.zeros(len(row)) for row in ids]
    return [PairTokens(row, np.asarray(kind, dtype=np.int32)) for row, kind in zip(ids, types, strict=True)]


def _refuse_non_finite(logits: NDArray[np.float32], pairs: Sequence[Pair]) -> None:
    broken = np.flatnonzero(~np.isfinite(logits))
    if broken.size:
        query, passage = pairs[int(broken[0])]
        raise NonFiniteScore(
            f"the teacher gave {logits[broken[0]]} for query {query[:80]!r} and passage {passage[:80]!r} "
            f"({broken.size} of {len(pairs)} pairs in this batch); stored, it would outrank or hide every other "
            "passage of the query"
        )
