"""What students and teachers share: a sentence-transformers model that is trained in float32 and read in bf16."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from models.batching import chunks_by_length
from models.half import HalfTwin
from models.learning import LearningTwin
from models.packing import laid_out, lay_out, packed_chunks, prepare, same
from models.regime import learning_attention
from models.runtime import Runtime

Tick = Callable[[int], None]
PROBES = ("cats", "how red cats sleep in the sun", "a cat that sleeps")


class Wrapped(ABC):
    """A sentence-transformers model whose first module is a transformer.

    Attributes:
        model: The model, weights in float32.
        runtime: Device, precision and threads.
    """

    def __init__(self, model: Any, runtime: Runtime) -> None:
        self.model = model
        self.runtime = runtime
        self._twin = HalfTwin(model[0])
        self._learner = LearningTwin(model[0])
        self._packs: bool | None = None

    def parameters(self) -> Iterator[nn.Parameter]:
        """Yield what an optimizer trains."""
        yield from self.model.parameters()

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield what an optimizer trains, with names, so that biases and norms can be left undecayed."""
        yield from self.model.named_parameters()

    def modules(self) -> Iterator[nn.Module]:
        """Yield every layer."""
        yield from self.model.modules()

    def train(self) -> None:
        """Turn dropout on, and take the attention that learns quickest."""
        self._twin.forget()
        self._learner.outdate()
        learning_attention(self.model, self.runtime.device, learns=True)
        self.model.train()

    def eval(self) -> None:
        """Turn dropout off, and take the model's own attention again."""
        self._learner.outdate()
        learning_attention(self.model, self.runtime.device, learns=False)
        self.model.eval()

    def state(self) -> dict[str, Tensor]:
        """Copy every weight of every module (pooling and dense layers too) to the CPU."""
        return {name: value.detach().cpu().clone() for name, value in self.model.state_dict().items()}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Put weights back that `state` copied."""
        self._twin.forget()
        self._learner.forget()
        self.model.load_state_dict(dict(state), strict=True)

    @property
    def packs(self) -> bool:
        """Whether several texts share a row while it learns: on a CPU, where this model computes the same so."""
        if self._packs is None:
            right = self.model.tokenizer.padding_side == "right"
            self._packs = self.runtime.cpu and right and self._computes_the_same_in_rows()
        return self._packs

    def learning_chunks(self, lengths: Sequence[int], budget: int) -> list[list[int]]:
        """Cut inputs of these lengths (tokens) into chunks for forwards with gradient; every position once."""
        return packed_chunks(lengths, budget) if self.packs else chunks_by_length(lengths, budget)

    def _learn(self, features: dict[str, Any], lengths: Sequence[int]) -> dict[str, Any]:
        """Run the transformer forward with gradient, in the runtime's precision."""
        layout = lay_out(lengths, features["input_ids"].shape[1], self.runtime.device) if self.packs else None
        with self.runtime.learning(), laid_out(layout):
            first = self._learner.get() if self.runtime.learns_by_copy else self.model[0]
            read: dict[str, Any] = first(features)
        return read

    @abstractmethod
    def _probe(self) -> tuple[Callable[[], dict[str, Any]], list[int]]:
        """A few inputs of different lengths to try the model on, made anew by each call, and their tokens."""

    @abstractmethod
    def _finish(self, features: dict[str, Any]) -> Tensor:
        """What follows the transformer, in float32."""

    def _computes_the_same_in_rows(self) -> bool:
        make, lengths = self._probe()
        if not any([prepare(child) for child in self.model[0].children()]):
            return False
        layout = lay_out(lengths, make()["input_ids"].shape[1], self.runtime.device)
        training = self.model.training
        self.eval()
        try:
            found = []
            for way in (None, layout):
                with torch.inference_mode(), laid_out(way):
                    found.append(self._finish(self.model[0](make())).cpu().numpy())
            return same(*found)
        except (TypeError, ValueError, RuntimeError, LookupError, AttributeError):
            return False  # an encoder that is called otherwise; padded texts work with any
        finally:
            if training:
                self.train()

    @contextmanager
    def _inference(self) -> Iterator[nn.Module]:
        """Give the transformer in the runtime's precision, without dropout or gradients; train goes on after it."""
        training = self.model.training
        self.eval()
        try:
            first = self.model[0] if self.runtime.precision == "fp32" else self._twin.get()
            with torch.inference_mode():
                yield first
        finally:
            if training:
                self.train()
