"""What students and teachers share: a sentence-transformers model that is trained in float32 and read in bf16."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from models.half import HalfTwin
from models.learning import LearningTwin
from models.regime import learning_attention
from models.runtime import Runtime

Tick = Callable[[int], None]


class Wrapped:
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
        learning_attention(self.model, self.runtime.device, learns=True)
        self.model.train()

    def eval(self) -> None:
        """Turn dropout off, and take the model's own attention again."""
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

    @contextmanager
    def _learning(self) -> Iterator[nn.Module]:
        """Give the transformer for a forward with gradient, in the runtime's precision."""
        with self.runtime.learning():
            yield self._learner.get() if self.runtime.learns_by_copy else self.model[0]

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
