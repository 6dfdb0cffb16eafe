"""The optimiser and how fast it learns at which step."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def rate(step: int, steps: int, warmup: float) -> float:
    """Share of the learning rate at a step (counted from 0): up in a line, then down in a line, never zero.

    Args:
        step: The step about to be taken.
        steps: How many there are.
        warmup: Share of the steps that go up.
    """
    rising = int(steps * warmup)
    if step < rising:
        return (step + 1) / (rising + 1)
    return (steps - step) / (steps - rising)


def make_optimizer(named: Iterable[tuple[str, nn.Parameter]], lr: float, weight_decay: float) -> torch.optim.AdamW:
    """Make AdamW over what is trainable; vectors (biases, norms) don't decay."""
    trained = [parameter for _, parameter in named if parameter.requires_grad]
    if not trained:
        raise ValueError("every parameter is frozen; there is nothing to train")
    groups = [
        {"params": [parameter for parameter in trained if parameter.ndim > 1], "weight_decay": weight_decay},
        {"params": [parameter for parameter in trained if parameter.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=lr, fused=True)


def moments(optimizer: torch.optim.AdamW) -> dict[str, Tensor]:
    """Copy the optimiser's state, flat: `<number of the parameter>.<name of the tensor>`."""
    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": value.detach().cpu().clone()
        for number, tensors in state.items()
        for name, value in tensors.items()
    }


def load_moments(optimizer: torch.optim.AdamW, flat: dict[str, Tensor]) -> None:
    """Put a state back that `moments` copied from an optimiser over the same parameters."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in flat.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
