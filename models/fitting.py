"""The one mechanism by which students and teachers are trained: steps, dev evaluations, the best kept, exact resume.

Nothing random outlives a step: what is drawn and what dropout does follow from the seed and the step's number.
So a resumed run needs no generator's state, and an evaluation cannot disturb one.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from models.checkpoint import Checkpoints, Saved, digest_tensors
from models.regime import dropout_of, frozen, seeded
from models.runtime import Runtime
from models.schedule import load_moments, make_optimizer, moments, rate

Tick = Callable[[int], None]
Descend = Callable[[int], tuple[float, int]]


@dataclass(frozen=True)
class Plan:
    """How long and how fast to train, and when to look.

    Attributes:
        steps: Optimiser steps.
        lr: Highest learning rate.
        warmup: Share of the steps that lead up to it.
        weight_decay: AdamW's; biases and norms are spared.
        clip: Largest norm of the gradient; 0 leaves it.
        seed: Where draws and dropout start.
        batch: Lists of a step, one per query.
        evaluate_every: Steps between dev evaluations; 0 evaluates the start and the end only.
        patience: Evaluations in a row without a better one after which training stops; 0 never stops.
        dropout: Share of activations dropped in every dropout layer; None leaves each as the model has it.
        frozen: Parameters whose name contains one of these stay as they are.
        record_every: Steps between rows of the history.
        save_seconds: Seconds between saved states.
        chunk_tokens: Tokens of one forward (padded ones where texts do not share rows).
        cache: Where a loss needs a whole batch, use a gradient cache: memory is bounded by `chunk_tokens` instead.
    """

    # says where it ran, not what it is: a run may be resumed with other values, and warns where bits depend on them
    WHERE: ClassVar[frozenset[str]] = frozenset({"record_every", "save_seconds", "chunk_tokens", "cache"})

    steps: int
    lr: float = 5e-5
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 0
    batch: int = 32
    evaluate_every: int = 0
    patience: int = 0
    frozen: tuple[str, ...] = ()
    dropout: float | None = None
    record_every: int = 10
    save_seconds: float = 60.0
    chunk_tokens: int = 4096
    cache: bool = False

    def __post_init__(self) -> None:
        if self.steps < 1 or not self.lr > 0 or not 0 <= self.warmup < 1:
            raise ValueError(
                f"training needs a step, a learning rate above 0 and a warm-up share from 0 to below 1; got "
                f"steps={self.steps}, lr={self.lr}, warmup={self.warmup}"
            )

    def looks_at(self, step: int) -> bool:
        """Whether there is a dev evaluation after a step; 0 is the start."""
        return step in (0, self.steps) or (self.evaluate_every > 0 and step % self.evaluate_every == 0)

    @property
    def looks(self) -> int:
        """Dev evaluations, if patience does not end them sooner."""
        return sum(map(self.looks_at, range(self.steps + 1)))


class Trainable(Protocol):
    """What students and teachers have in common here."""

    runtime: Runtime

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...  # noqa: D102
    def train(self) -> None: ...  # noqa: D102
    def eval(self) -> None: ...  # noqa: D102
    def modules(self) -> Iterator[nn.Module]: ...  # noqa: D102
    def state(self) -> dict[str, Tensor]: ...  # noqa: D102
    def load_state(self, state: Mapping[str, Tensor]) -> None: ...  # noqa: D102


@dataclass(frozen=True)
class Work:
    """What one training does.

    Attributes:
        descend: Draws the batch of a step (counted from 0), computes its loss and runs it backward; gives the
            loss and the tokens read.
        evaluate: The dev measure of the model as it is; higher is better.
        epoch_steps: Steps of an epoch.
        data: Names what is drawn from, so that a run is never resumed on other data.
    """

    descend: Descend
    evaluate: Callable[[], float]
    epoch_steps: int
    data: str


@dataclass(frozen=True)
class HistoryRow:
    """A row of the history: mean loss since the row before, and the measure where there was an evaluation."""

    step: int
    epoch: int
    loss: float | None
    measure: float | None
    seconds: float
    tokens: int


@dataclass(frozen=True)
class Trained:
    """How a training ended; the model holds the weights of the best step.

    Attributes:
        best_step: Step with the best dev measure, the earliest of equals; 0 is the start.
        steps: Steps taken.
        best_measure: The dev measure there.
        history: Row by row.
        unfinished: The best is the last: more steps might have been better.
        tokens: Tokens read, padding not counted.
        seconds: Seconds of training and evaluation, over all parts of a resumed run.
    """

    best_step: int
    steps: int
    best_measure: float
    history: tuple[HistoryRow, ...]
    unfinished: bool
    tokens: int
    seconds: float


@dataclass
class Progress:
    """Where a run stands, in JSON values."""

    step: int = 0
    best_step: int = 0
    best_measure: float = -math.inf
    worse: int = 0  # evaluations in a row without a better one
    tokens: int = 0
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)  # since the last row
    rows: list[dict[str, Any]] = field(default_factory=list)


def fit(model: Trainable, plan: Plan, work: Work, state_dir: Path, tick: Tick | None = None) -> Trained:
    """Train a model and leave it with its best weights, in evaluation mode.

    Args:
        model: Holds the starting weights, which take part in the comparison as step 0.
        plan: How long, how fast, when to look.
        work: The loss of a step and the dev measure.
        state_dir: The run's own folder; a killed run goes on from here and ends the same.
        tick: Told how many steps were done.

    Raises:
        FloatingPointError: A loss, gradient or measure is not a number; names the step.
        ValueError: The folder holds another run.
    """
    team = model.runtime.team
    kept = Checkpoints(state_dir, _identity(model, plan, work), _where(model.runtime, plan), writes=team.rank == 0)
    over = team.told(kept.finished)  # no process reads before the first one has found the folder to be this run's
    if over is not None:
        progress = Progress(**over)
        _tell(tick, progress.step)
    else:
        with frozen(model.named_parameters(), plan.frozen), dropout_of(model.modules(), plan.dropout):
            progress = _run(model, plan, work, kept, tick)
        team.told(lambda: kept.finish(asdict(progress)))  # the best weights are there before others read them
    model.load_state(kept.best(progress.best_step))
    model.eval()
    return Trained(
        best_step=progress.best_step,
        steps=progress.step,
        best_measure=progress.best_measure,
        history=tuple(HistoryRow(**row) for row in progress.rows),
        unfinished=progress.best_step == progress.step,
        tokens=progress.tokens,
        seconds=progress.seconds,
    )


def _run(model: Trainable, plan: Plan, work: Work, kept: Checkpoints, tick: Tick | None) -> Progress:
    optimizer = make_optimizer(model.named_parameters(), plan.lr, plan.weight_decay)
    progress = _resume(model, optimizer, kept)
    _tell(tick, progress.step)
    started = time.monotonic() - progress.seconds
    saved = time.monotonic()
    if progress.step == 0:
        _look(model, plan, work, kept, progress)
    while progress.step < plan.steps and not 0 < plan.patience <= progress.worse:
        take_step(model, optimizer, plan, work.descend, progress)
        progress.seconds = time.monotonic() - started
        _look(model, plan, work, kept, progress)
        progress.seconds = time.monotonic() - started
        if time.monotonic() - saved >= plan.save_seconds:
            kept.save(progress.step, progress.best_step, Saved(asdict(progress), model.state(), moments(optimizer)))
            saved = time.monotonic()
        _tell(tick, 1)
    optimizer.zero_grad(set_to_none=True)
    return progress


def _resume(model: Trainable, optimizer: torch.optim.AdamW, kept: Checkpoints) -> Progress:
    """Put the last saved state back; a run without one starts at step 0."""
    saved = kept.load()
    if saved is None:
        return Progress()
    model.load_state(saved.model)
    load_moments(optimizer, saved.optimizer)
    return Progress(**saved.progress)


def take_step(model: Trainable, optimizer: torch.optim.AdamW, plan: Plan, descend: Descend, progress: Progress) -> None:
    """Take one optimiser step."""
    model.train()
    optimizer.zero_grad(set_to_none=True)
    team = model.runtime.team
    with seeded(model.runtime.device, plan.seed, progress.step, *([team.rank] if team.rank else [])):
        loss, tokens = descend(progress.step)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    team.add_up(parameters)
    norm = float(nn.utils.clip_grad_norm_(parameters, plan.clip or math.inf))
    if not (math.isfinite(loss) and math.isfinite(norm)):
        raise FloatingPointError(
            f"step {progress.step + 1} of {plan.steps}: the loss is {loss} and its gradient's norm {norm}; going on "
            "would make every weight NaN. A lower learning rate, a higher temperature or precision fp32 helps"
        )
    for group in optimizer.param_groups:
        group["lr"] = plan.lr * rate(progress.step, plan.steps, plan.warmup)
    optimizer.step()
    progress.step += 1
    progress.tokens += tokens
    progress.losses.append(loss)


def _look(model: Trainable, plan: Plan, work: Work, kept: Checkpoints, progress: Progress) -> None:
    """Evaluate where it is due, keep the better weights, and write a row of the history."""
    step = progress.step
    measure, due = None, plan.looks_at(step)
    if due:
        model.eval()
        measure = model.runtime.team.told(lambda: float(work.evaluate()))
        if not math.isfinite(measure):
            raise FloatingPointError(f"step {step}: the dev measure is {measure}; no best checkpoint can be chosen")
        better = step == 0 or measure > progress.best_measure
        progress.worse = 0 if better else progress.worse + 1
        if better:
            progress.best_step, progress.best_measure = step, measure
            kept.keep_best(step, model.state())
    if due or step % plan.record_every == 0:
        loss = sum(progress.losses) / len(progress.losses) if progress.losses else None
        epoch = max(0, step - 1) // work.epoch_steps
        row = HistoryRow(step, epoch, loss, measure, round(progress.seconds, 3), progress.tokens)
        progress.rows.append(asdict(row))
        progress.losses.clear()


def _identity(model: Trainable, plan: Plan, work: Work) -> dict[str, Any]:
    """Everything that the weights of a step depend on, threads and device aside."""
    settings = {name: str(value) for name, value in asdict(plan).items() if name not in plan.WHERE}
    return {**settings, "data": work.data, "start": digest_tensors(model.state())}


def _where(runtime: Runtime, plan: Plan) -> dict[str, Any]:
    """Everything else that the last bits depend on: how sums are cut, and what dropout is drawn for at once."""
    chunks = {"chunk_tokens": plan.chunk_tokens, "cache": plan.cache, "processes": runtime.team.size}
    return {**chunks, "device": runtime.device, "precision": runtime.precision, "threads": runtime.threads}


def _tell(tick: Tick | None, steps: int) -> None:
    if tick is not None and steps:
        tick(steps)
