"""Several processes that train one model together, by `accelerate`.

Every process draws the same batch and runs its share of the chunks. The outputs of all are gathered, so that each
computes the whole loss over the whole batch: negatives come from every process, and a process's own outputs get the
whole gradient. What a process adds to the weights' gradients is summed. So a step is that of one process with the
joint batch, up to rounding; with dropout on, by other draws.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

Told = TypeVar("Told")


@dataclass(frozen=True)
class Team:
    """A process's place among those that train together.

    Attributes:
        rank: From 0; the first one alone evaluates and writes.
        size: Processes.
    """

    rank: int = 0
    size: int = 1

    def enough(self, chunks: list[list[int]]) -> list[list[int]]:
        """Halve the largest chunks until every process has one.

        Raises:
            ValueError: There are fewer inputs than processes.
        """
        if sum(map(len, chunks)) < self.size:
            raise ValueError(
                f"a batch of {sum(map(len, chunks))} texts can't be shared by {self.size} processes; take a larger "
                "batch, or fewer processes"
            )
        chunks = list(chunks)
        while len(chunks) < self.size:
            largest = max(range(len(chunks)), key=lambda number: len(chunks[number]))
            chunk = chunks.pop(largest)
            chunks += [chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]]
        return chunks

    def own(self, chunks: Sequence[list[int]]) -> Sequence[list[int]]:
        """This process's share of the chunks."""
        return chunks[self.rank :: self.size]

    def whole(self, outputs: list[Tensor], chunks: Sequence[list[int]]) -> Tensor:
        """Join the outputs of all processes in the order of the inputs; the own ones keep their graph.

        Args:
            outputs: Of the own chunks, (n, ...) each.
            chunks: Of all processes; every position once.
        """
        own = torch.cat(outputs)
        shares = [[place for chunk in chunks[rank :: self.size] for place in chunk] for rank in range(self.size)]
        parts = self._gathered(own.detach(), [len(share) for share in shares]) if self.size > 1 else [own]
        parts[self.rank] = own
        places = torch.tensor([place for share in shares for place in share])
        return torch.cat(parts)[torch.argsort(places).to(own.device)]

    def add_up(self, parameters: Iterable[nn.Parameter]) -> None:
        """Sum what the processes found to be each weight's gradient; one that none of them has stays without."""
        if self.size == 1:
            return
        from accelerate.utils import reduce

        weights = list(parameters)
        found = torch.tensor([weight.grad is not None for weight in weights], device=weights[0].device)
        used = reduce(found.float(), "sum") > 0
        held = [weight for weight, is_used in zip(weights, used.tolist(), strict=True) if is_used]
        flat = torch.cat([(torch.zeros_like(each) if each.grad is None else each.grad).flatten() for each in held])
        parts = reduce(flat, "sum").split([each.numel() for each in held])
        for each, part in zip(held, parts, strict=True):
            each.grad = part.view_as(each)

    def told(self, make: Callable[[], Told]) -> Told:
        """Let the first process make something and tell the others."""
        if self.size == 1:
            return make()
        from accelerate.utils import broadcast_object_list

        held: list[Told | None] = [make() if self.rank == 0 else None]
        broadcast_object_list(held)
        value: Told = held[0]  # type: ignore[assignment]
        return value

    def _gathered(self, own: Tensor, counts: list[int]) -> list[Tensor]:
        """Every process's outputs, (n, ...) each."""
        from accelerate.utils import gather, pad_across_processes

        most = max(counts)
        rows: Tensor = gather(pad_across_processes(own))
        return [rows[rank * most : rank * most + count] for rank, count in enumerate(counts)]


ALONE = Team()
