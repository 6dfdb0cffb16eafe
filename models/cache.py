"""From a loss over a whole batch to gradients, chunk by chunk: with one graph, or with a gradient cache.

The cache (GradCache, arXiv 2101.06983) runs every chunk without a graph, differentiates the loss with respect to the
outputs alone, and runs each chunk again, under the random state it had, to pass its share of that gradient on. The last
chunk of all keeps its graph and is run once. Memory is bounded by the chunk, whatever the loss; loss and gradients are
those of the plain way.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch
from torch import Tensor

from models.memory import Ebb
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
    if cached:
        return _backward_cached(groups, loss_of, device, team)
    with within():
        outputs = [team.whole([group.run(chunk) for chunk in team.own(group.chunks)], group.chunks) for group in groups]
    loss = loss_of(*outputs)
    loss.backward()  # type: ignore[no-untyped-call]
    return float(loss.detach())


def _backward_cached(groups: Sequence[Group], loss_of: LossOf, device: str, team: Team) -> float:
    leaves: list[Tensor] = []
    looks: list[_Look] = []
    ebb = Ebb()
    for number, group in enumerate(groups):
        look = _look(group, team.own(group.chunks), device, ebb, keep=number == len(groups) - 1)
        leaves.append(team.whole(look.outputs, group.chunks).requires_grad_())
        looks.append(look)
    loss = loss_of(*leaves)
    loss.backward()  # type: ignore[no-untyped-call]
    for leaf, look in reversed(list(zip(leaves, looks, strict=True))):
        if leaf.grad is not None:
            _pass_on(look, leaf.grad, device, ebb)
    return float(loss.detach())


class _Look(NamedTuple):
    """A group's chunks that were run without a graph, but the last one of all, whose graph is worth keeping.

    Attributes:
        run: The group's.
        chunks: Those of this process.
        outputs: Of each, without a graph.
        before: The random state before each that has to be run again.
        kept: Outputs of the last chunk with their graph; nothing where every chunk has to be run again.
    """

    run: Callable[[list[int]], Tensor]
    chunks: Sequence[list[int]]
    outputs: list[Tensor]
    before: list[RandomState]
    kept: list[Tensor]


def _look(group: Group, chunks: Sequence[list[int]], device: str, ebb: Ebb, keep: bool) -> _Look:
    """Run a group's chunks; with `keep` the last one with a graph: one is alive at a time either way."""
    outputs, before = _Outputs(sum(map(len, chunks))), []
    with torch.no_grad():
        for chunk in chunks[:-1] if keep else chunks:
            before.append(_random_state(device))
            outputs.add(group.run(chunk))
            ebb.after_chunk()
    kept = [group.run(chunks[-1])] if keep else []
    return _Look(group.run, chunks, [*outputs.parts, *(each.detach() for each in kept)], before, kept)


class _Outputs:
    """Outputs of chunks in one piece of memory: small ones between a chunk's large temporaries would keep those apart.

    Args:
        count: Inputs of all chunks.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.parts: list[Tensor] = []
        self.room: Tensor | None = None

    def add(self, output: Tensor) -> None:
        """Copy a chunk's outputs, (n, ...), behind the last one's."""
        if self.room is None:
            self.room = output.new_empty((self.count, *output.shape[1:]))
        start = sum(len(part) for part in self.parts)
        self.parts.append(self.room[start : start + len(output)].copy_(output))


def _pass_on(look: _Look, gradient: Tensor, device: str, ebb: Ebb) -> None:
    """Send a group's gradient through the graph that was kept, then through every other chunk, run as it ran before."""
    if look.kept:
        torch.autograd.backward(look.kept.pop(), gradient[look.chunks[-1]])
    with torch.random.fork_rng(devices=[torch.device(device)] if _on_cuda(device) else []):
        for chunk, state in zip(look.chunks, look.before, strict=False):  # the kept one has none
            _set_random_state(state, device)
            torch.autograd.backward(look.run(chunk), gradient[chunk])
            ebb.after_chunk()


def _on_cuda(device: str) -> bool:
    return torch.device(device).type == "cuda"


def _random_state(device: str) -> RandomState:
    state = torch.get_rng_state()
    return (state, torch.cuda.get_rng_state(device)) if _on_cuda(device) else (state,)


def _set_random_state(state: RandomState, device: str) -> None:
    torch.set_rng_state(state[0])
    if _on_cuda(device):
        torch.cuda.set_rng_state(state[1], device)
