"""How a transformer computes while it learns: which attention kernel, how much dropout, and whence its draws come."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn


def learning_attention(model: nn.Module, device: str, learns: bool) -> None:
    """Take the attention whose backward is quick on this device while learning, the model's own otherwise.

    On a CPU, the backward of the fused attention took over a third of a step in bf16; spelled-out attention
    made steps about twice as fast on short texts. For inference, and on a GPU, the fused one is the faster.
    """
    if torch.device(device).type != "cpu":
        return
    for module in model.modules():
        change = getattr(module, "set_attn_implementation", None)
        own = getattr(getattr(module, "config", None), "_attn_implementation", None)
        if change is None or own is None:
            continue
        if learns and own == "sdpa":
            module._remine_attention = own
            change("eager")
        elif not learns and hasattr(module, "_remine_attention"):
            change(module._remine_attention)
            del module._remine_attention


@contextmanager
def seeded(device: str, *numbers: int) -> Iterator[None]:
    """Draw dropout from these numbers alone and leave torch's generators as they were."""
    place = torch.device(device)
    others = [place] if place.type == "cuda" else []
    with torch.random.fork_rng(devices=others):
        torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1)[0]))
        yield


@contextmanager
def dropout_of(modules: Iterable[nn.Module], share: float | None) -> Iterator[None]:
    """Give every dropout layer one strength, and its own back afterwards; None leaves each as it is."""
    layers = [module for module in modules if isinstance(module, nn.Dropout)] if share is not None else []
    before = [layer.p for layer in layers]
    for layer in layers:
        layer.p = float(share or 0.0)
    try:
        yield
    finally:
        for layer, own in zip(layers, before, strict=True):
            layer.p = own


@contextmanager
def frozen(named: Iterable[tuple[str, nn.Parameter]], names: tuple[str, ...]) -> Iterator[None]:
    """Keep some parameters out of training, and give them back afterwards."""
    there = {name: parameter for name, parameter in named if any(part in name for part in names)}
    idle = [part for part in names if not any(part in name for name in there)]
    found = {name: parameter for name, parameter in there.items() if parameter.requires_grad}
    if idle:
        raise ValueError(f"no parameter's name contains {idle[0]!r}; nothing would be frozen by it")
    for parameter in found.values():
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in found.values():
            parameter.requires_grad_(True)
