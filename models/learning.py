"""A bf16 copy of a transformer that learns for its float32 source: on a CPU, about twice as fast as autocast.

Autocast casts activations and weights in every product, and runs layer norms and residual sums in float32. A copy in
bf16 does neither. Its gradients go to the source in float32 as they come; the optimiser changes the source alone
(float32 master weights), and the copy follows.
"""

from copy import copy, deepcopy

import torch
from torch import Tensor, nn

from models.half import heads_of, to_float32


class LearningTwin:
    """Keeps the learning copy of a module.

    Args:
        source: A sentence-transformers module whose children are the transformer.
    """

    def __init__(self, source: nn.Module) -> None:
        self._source = source
        self._stale = True
        self._twin: nn.Module | None = None

    def forget(self) -> None:
        """Drop the copy: nothing learns any more, or the source is another."""
        self._twin = None

    def outdate(self) -> None:
        """Say that the source's weights may have changed; asked every step: fused optimisers count no versions."""
        self._stale = True

    def get(self) -> nn.Module:
        """Give the copy with the weights that the source had when it was last outdated, and its mode of this moment."""
        if self._twin is None:
            self._twin = learning_copy(self._source)
        elif self._stale:
            with torch.no_grad():
                for own, exact in zip(self._twin.parameters(), self._source.parameters(), strict=True):
                    if exact.requires_grad:
                        own.copy_(exact)
        self._stale = False
        _follow(self._twin, self._source)
        return self._twin


def learning_copy(module: nn.Module) -> nn.Module:
    """Copy a module with weights in bf16 whose gradients are added to the module's own, in float32.

    Buffers keep their type, because rotary frequencies need float32; so does the classification head, because logits
    in bf16 have steps of 0.03 at 5.
    """
    twin = copy(module)
    twin._modules = {name: None if child is None else deepcopy(child) for name, child in module._modules.items()}
    heads = [head for child in twin._modules.values() if child is not None for head in heads_of(child)]
    exact = {id(weight) for head in heads for weight in head.parameters()}
    for own, master in zip(twin.parameters(), module.parameters(), strict=True):
        own.requires_grad_(True)  # a hook needs it; what is frozen is told by `_follow`
        if id(own) not in exact:
            own.data = own.data.to(torch.bfloat16)
        own.register_post_accumulate_grad_hook(_HandOver(master))  # type: ignore[no-untyped-call]
    for head in heads:
        head.register_forward_pre_hook(to_float32)
    return twin


class _HandOver:
    """Adds a gradient to the master's and takes it away from the copy."""

    def __init__(self, master: nn.Parameter) -> None:
        self.master = master

    def __call__(self, own: Tensor) -> None:
        """Called by autograd when a backward has summed what comes to this weight."""
        if own.grad is None:
            return
        given = own.grad.to(self.master.dtype)
        self.master.grad = given if self.master.grad is None else self.master.grad.add_(given)
        own.grad = None


def _follow(twin: nn.Module, source: nn.Module) -> None:
    for own, exact in zip(twin.parameters(), source.parameters(), strict=True):
        own.requires_grad_(exact.requires_grad)
    for layer, other in zip(twin.modules(), source.modules(), strict=True):
        layer.training = other.training
        if isinstance(layer, nn.Dropout) and isinstance(other, nn.Dropout):
            layer.p = other.p
