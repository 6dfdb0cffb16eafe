"""What students and teachers share: a sentence-transformers model that is trained in float32 and read in bf16."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from models.batching import chunks_by_length
from models.packing import packed_chunks
from models.regime import learning_attention
from models.runtime import Runtime
from models.tower import Tower

Tick = Callable[[int], None]
PROBES = ("cats", "how red cats sleep in the sun", "a cat that sleeps")


class Wrapped(ABC):
    """A sentence-transformers model of one tower or of several.

    Attributes:
        model: The model, weights in float32.
        runtime: Device, precision and threads.
        towers: Its transformers with what follows each, distinct ones.
    """

    def __init__(self, model: Any, runtime: Runtime, towers: Sequence[Tower]) -> None:
        self.model = model
        self.runtime = runtime
        self.towers = tuple(towers)
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
        for tower in self.towers:
            tower.half.forget()
            tower.learner.outdate()
        learning_attention(self.model, self.runtime.device, learns=True)
        self.model.train()

    def eval(self) -> None:
        """Turn dropout off, and take the model's own attention again."""
        for tower in self.towers:
            tower.learner.outdate()
        learning_attention(self.model, self.runtime.device, learns=False)
        self.model.eval()

    def state(self) -> dict[str, Tensor]:
        """Copy every weight of every module (pooling and dense layers too) to the CPU."""
        return {name: value.detach().cpu().clone() for name, value in self.model.state_dict().items()}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Put weights back that `state` copied."""
        for tower in self.towers:
            tower.half.forget()
            tower.learner.forget()
        self.model.load_state_dict(dict(state), strict=True)

    @property
    def packs(self) -> bool:
        """Whether several texts share a row while it learns: on a CPU, where this model computes the same so."""
        if self._packs is None:
            self._packs = self.runtime.cpu and all(map(self._computes_the_same_in_rows, self.towers))
        return self._packs

    def learning_chunks(self, lengths: Sequence[int], budget: int) -> list[list[int]]:
        """Cut inputs of these lengths (tokens) into chunks for forwards with gradient; every position once."""
        return packed_chunks(lengths, budget) if self.packs else chunks_by_length(lengths, budget)

    def _learn(self, tower: Tower, features: dict[str, Any], lengths: Sequence[int]) -> dict[str, Any]:
        """Run a tower's transformer forward with gradient, in the runtime's precision."""
        return tower.learn(features, lengths if self.packs else None)

    @abstractmethod
    def _probe(self, tower: Tower) -> tuple[Callable[[], dict[str, Any]], list[int]]:
        """A few inputs of different lengths to try a tower on, made anew by each call, and their tokens."""

    @abstractmethod
    def _finish(self, tower: Tower, features: dict[str, Any]) -> Tensor:
        """What follows a tower's transformer, in float32."""

    def _computes_the_same_in_rows(self, tower: Tower) -> bool:
        with self._still():
            return tower.computes_the_same_in_rows(*self._probe(tower), lambda read: self._finish(tower, read))

    @contextmanager
    def _still(self) -> Iterator[None]:
        """Turn dropout off; train goes on after it."""
        training = self.model.training
        self.eval()
        try:
            yield
        finally:
            if training:
                self.train()

    @contextmanager
    def _inference(self, tower: Tower) -> Iterator[nn.Module]:
        """Give a tower's transformer in the runtime's precision, without dropout or gradients; train goes on after."""
        with self._still(), torch.inference_mode():
            yield tower.reader()
