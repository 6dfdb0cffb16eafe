"""From a loss over a whole batch to gradients, chunk by chunk: with one graph, or with a gradient cache.

The cache (GradCache, arXiv 2101.06983) runs every chunk without a graph, differentiates the loss with respect to the
outputs alone, and runs each chunk again, under the random state it had, to pass its share of that gradient on. Memory
is bounded by the chunk, whatever the loss; loss and gradients are those of the plain way.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch
from torch import Tensor

from models.team import ALONE, Team

RandomState = tuple[Tensor, ...]
LossOf = Callable[..., Tensor]
Within = Callable[[], AbstractContextManager[object]]


class Group(NamedTuple):
    """Inputs of one kind that go through the model in chunks.

    Attributes:
        run: Gives the inputs at these positions their outputs, (n, ...), with gradient.
        chunks: Positions; every input exactly once.
    """

    run: Callable[[list[int]], Tensor]
    chunks: Sequence[list[int]]


def backward(
    groups: Sequence[Group],
    loss_of: LossOf,
    device: str,
    cached: bool = False,
    within: Within = nullcontext,
    team: Team = ALONE,
) -> float:
    """Compute a loss over the outputs of groups and add its gradients to the model's parameters.

    Args:
        groups: Inputs in chunks; the outputs of a group are handed on in the order of its inputs.
        loss_of: Takes one tensor of outputs per group and gives a scalar; draws nothing at random.
        device: Where the model is, whose random state is kept with each chunk.
        cached: Bound memory by the chunk, at the price of a second forward.
        within: What all chunks' forwards run in, where nothing is cached: one autocast casts each weight once.
        team: Whose processes share the chunks; the loss is over the outputs of all.

    Returns:
        The loss.
    """
    if not cached:
        with within():
            outputs = [
                team.whole([group.run(chunk) for chunk in team.own(group.chunks)], group.chunks) for group in groups
            ]
        loss = loss_of(*outputs)
        loss.backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())
    states: list[list[RandomState]] = []
    leaves: list[Tensor] = []
    for group in groups:
        outputs, before = _run_without_graph(group, team.own(group.chunks), device)
        leaves.append(team.whole(outputs, group.chunks).requires_grad_())
        states.append(before)
    loss = loss_of(*leaves)
    loss.backward()  # type: ignore[no-untyped-call]
    for group, leaf, before in zip(groups, leaves, states, strict=True):
        if leaf.grad is not None:
            _run_again(group, team.own(group.chunks), leaf.grad, before, device)
    return float(loss.detach())


def _run_without_graph(
    group: Group, chunks: Sequence[list[int]], device: str
) -> tuple[list[Tensor], list[RandomState]]:
    """Outputs of every chunk and the random state before each."""
    outputs, before = [], []
    with torch.no_grad():
        for chunk in chunks:
            before.append(_random_state(device))
            outputs.append(group.run(chunk))
    return outputs, before


def _run_again(
    group: Group, chunks: Sequence[list[int]], gradient: Tensor, before: list[RandomState], device: str
) -> None:
    """Run every chunk as it ran before, with a graph, and send its rows of the gradient through."""
    with torch.random.fork_rng(devices=[torch.device(device)] if _on_cuda(device) else []):
        for chunk, state in zip(chunks, before, strict=True):
            _set_random_state(state, device)
            torch.autograd.backward(group.run(chunk), gradient[chunk])


def _on_cuda(device: str) -> bool:
    return torch.device(device).type == "cuda"


def _random_state(device: str) -> RandomState:
    state = torch.get_rng_state()
    return (state, torch.cuda.get_rng_state(device)) if _on_cuda(device) else (state,)


def _set_random_state(state: RandomState, device: str) -> None:
    torch.set_rng_state(state[0])
    if _on_cuda(device):
        torch.cuda.set_rng_state(state[1], device)
