"""Who computes shards of encoding and scoring: this process in turn, or the workers of a Ray cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

from tasks.progress import Tick
from tasks.where import Where

Opened = TypeVar("Opened")
OpenedHere = TypeVar("OpenedHere", covariant=True)
Made = TypeVar("Made")


class Opening(Protocol[OpenedHere]):
    """What a process needs for its shards (a model, texts), as a small reference that can be sent to it.

    Equal references stand for the same things, so a process opens them once, however many shards it computes.
    """

    def open(self) -> OpenedHere:
        """Load what it stands for."""
        ...


class Shard(Protocol):
    """A piece of work that is written to a file of its own, whole or not at all."""

    @property
    def size(self) -> int:
        """Units of progress: texts or pairs."""
        ...


Piece = TypeVar("Piece", bound=Shard)
Compute = Callable[[Opened, Piece, Tick], Made]


@dataclass(frozen=True)
class Done(Generic[Piece, Made]):
    """A shard that was computed, or could not be.

    Attributes:
        shard: Which one.
        value: What computing it returned, something small.
        error: Why it failed; None: it did not.
    """

    shard: Piece
    value: Made | None
    error: Exception | None

    def raise_failure(self) -> None:
        """Raise what it failed with, where it did."""
        if self.error is not None:
            raise self.error


class Runner(Protocol):
    """Computes shards."""

    def map(
        self, opening: Opening[Opened], compute: Compute[Opened, Piece, Made], shards: Sequence[Piece], tick: Tick
    ) -> Iterator[Done[Piece, Made]]:
        """Compute shards, and tell of each as it is done; one that fails costs none of the others.

        Args:
            opening: What every process needs that computes them.
            compute: Importable by name; gets what was opened, a shard, and whom to tell of progress within it.
            shards: What to compute; shards that are left when the caller stops asking are not.
            tick: Told how many units were done.
        """
        ...


@dataclass(frozen=True)
class Question:
    """A shard that makes nothing: one process is asked something about what it opened."""

    size: int = 0


def ask(runner: Runner, opening: Opening[Opened], question: Compute[Opened, Question, Made]) -> Made:
    """Ask one of the processes that are going to compute.

    Raises:
        Exception: What it failed with.
    """
    (done,) = runner.map(opening, question, [Question()], untold)
    done.raise_failure()
    return cast(Made, done.value)


class Here:
    """This process, one shard after another."""

    def __init__(self) -> None:
        self.kept: tuple[Any, Any] | None = None

    def map(
        self, opening: Opening[Opened], compute: Compute[Opened, Piece, Made], shards: Sequence[Piece], tick: Tick
    ) -> Iterator[Done[Piece, Made]]:
        """See `Runner`."""
        for shard in shards:
            yield self.one(opening, compute, shard, tick)

    def one(
        self, opening: Opening[Opened], compute: Compute[Opened, Piece, Made], shard: Piece, tick: Tick
    ) -> Done[Piece, Made]:
        """Compute one shard; what was opened for the last one is still there.

        Raises:
            Exception: What every shard needs could not be opened.
        """
        if self.kept is None or self.kept[0] != opening:
            self.kept = None  # two models need not fit
            self.kept = (opening, opening.open())
        try:
            return Done(shard, compute(self.kept[1], shard, tick), None)
        except Exception as error:
            return Done(shard, None, error)


@contextmanager
def open_runner(where: Where) -> Iterator[Runner]:
    """The runner of these settings, until the end of the block.

    Raises:
        ConnectionError: No Ray cluster answers at the address.
        ModuleNotFoundError: Ray is not installed.
        ValueError: The cluster cannot give a worker what it needs.
    """
    if where.runner == "local":
        yield Here()
        return
    from tasks.cluster import connected

    with connected(where) as cluster:
        yield cluster


def untold(count: int) -> None:
    """Nobody waits for progress."""
