"""A tower: one transformer and what turns its output into a model's, with the copies that read and learn for it."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from models.dropout import QuickDropout
from models.half import HalfTwin
from models.learning import LearningTwin
from models.packing import laid_out, lay_out, prepare, same
from models.runtime import Runtime


class Tower:
    """A transformer of a model, and the modules that its features go through afterwards.

    Attributes:
        first: The sentence-transformers module of the transformer, weights in float32.
        after: What follows it, in order.
        half: Its bf16 copy for inference.
        learner: Its bf16 copy that learns.
    """

    def __init__(self, modules: Sequence[Any], runtime: Runtime) -> None:
        self.first, *self.after = modules
        self.runtime = runtime
        self.half = HalfTwin(self.first)
        self.learner = LearningTwin(self.first)

    @property
    def tokenizer(self) -> Any:
        """What makes its tokens."""
        return self.first.tokenizer

    @property
    def max_length(self) -> int:
        """Tokens kept of a text, special tokens included."""
        return int(self.first.max_seq_length)

    def reader(self) -> nn.Module:
        """The transformer for inference, in the runtime's precision."""
        return self.first if self.runtime.precision == "fp32" else self.half.get()

    def learn(self, features: dict[str, Any], lengths: Sequence[int] | None) -> dict[str, Any]:
        """Run the transformer forward with gradient, in the runtime's precision.

        Args:
            features: What it reads, padded.
            lengths: Tokens of each text, so that texts share rows; None leaves them padded.
        """
        width = features["input_ids"].shape[1]
        layout = None if lengths is None else lay_out(lengths, width, self.runtime.device)
        quick = QuickDropout() if self.runtime.cpu else nullcontext()
        with self.runtime.learning(), laid_out(layout), quick:
            first = self.learner.get() if self.runtime.learns_by_copy else self.first
            read: dict[str, Any] = first(features)
        return read

    def computes_the_same_in_rows(
        self, make: Callable[[], dict[str, Any]], lengths: Sequence[int], finish: Callable[[dict[str, Any]], Tensor]
    ) -> bool:
        """Try whether texts that share rows are computed as if each were alone.

        Args:
            make: Makes a few padded inputs anew.
            lengths: Their tokens.
            finish: From the transformer's features to outputs.
        """
        if self.tokenizer.padding_side != "right" or not any([prepare(child) for child in self.first.children()]):
            return False
        layout = lay_out(lengths, make()["input_ids"].shape[1], self.runtime.device)
        try:
            found = []
            for way in (None, layout):
                with torch.inference_mode(), laid_out(way):
                    found.append(finish(self.first(make())).cpu().numpy())
            return same(*found)
        except (TypeError, ValueError, RuntimeError, LookupError, AttributeError):
            return False  # an encoder that is called otherwise; padded texts work with any
