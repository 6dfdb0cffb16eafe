"""What a training run needs to go on after it was killed: tensors as safetensors, the rest as JSON."""

import json
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

Tensors = dict[str, Tensor]
logger = logging.getLogger(__name__)


class Saved(NamedTuple):
    """A run as it was after some step."""

    progress: dict[str, Any]
    model: Tensors
    optimizer: Tensors


class Checkpoints:
    """One run's folder: the best weights so far, the last saved state, and how it ended.

    Everything is written beside and renamed, so that a kill leaves the earlier state whole. Best weights are
    files of their own and stay as long as a saved state names them.
    """

    def __init__(
        self, folder: Path, identity: Mapping[str, Any], where: Mapping[str, Any], writes: bool = True
    ) -> None:
        """Open a folder.

        Args:
            folder: Made where it isn't there.
            identity: What the run is of (plan, data, starting weights), as JSON values.
            where: How this machine computes it; a state that was saved otherwise is gone on from, with a warning.
            writes: False only reads, where another process of the same run writes.

        Raises:
            ValueError: The folder holds another run.
        """
        self.folder, self.writes = folder, writes
        if not writes:
            return
        folder.mkdir(parents=True, exist_ok=True)
        mine = json.dumps(identity, sort_keys=True, indent=1)
        path = folder / "identity.json"
        if path.exists() and path.read_text("utf-8") != mine:
            raise ValueError(
                f"{folder} holds the state of another training run: {_difference(path, identity)}; going on from it "
                "would mix the two. Delete the folder or name another"
            )
        with _beside(path) as beside:
            beside.write_text(mine, "utf-8")
        self._note_where(where)

    def keep_best(self, step: int, model: Tensors) -> None:
        """Keep the weights of the best step; those of a saved state's best step stay beside."""
        if not self.writes:
            return
        with _beside(self._best(step)) as beside:
            save_file(_apart(model), beside)
        self._drop_weights_but(step)

    def best(self, step: int) -> Tensors:
        """Read the weights of the best step."""
        weights: Tensors = load_file(self._best(step))
        return weights

    def save(self, step: int, best_step: int, saved: Saved) -> None:
        """Save the whole state after a step and drop the one before."""
        if not self.writes:
            return
        with _beside(self.folder / f"state-{step}") as beside:
            beside.mkdir()
            save_file(_apart(saved.model), beside / "model.safetensors")
            save_file(_apart(saved.optimizer), beside / "optimizer.safetensors")
            (beside / "progress.json").write_text(json.dumps(saved.progress), "utf-8")
        for older in self._states()[:-1]:
            shutil.rmtree(older)
        self._drop_weights_but(best_step)

    def load(self) -> Saved | None:
        """Read the last saved state; None where there is none."""
        states = self._states()
        if not states:
            return None
        return Saved(
            _json(states[-1] / "progress.json"),
            load_file(states[-1] / "model.safetensors"),
            load_file(states[-1] / "optimizer.safetensors"),
        )

    def finish(self, progress: Mapping[str, Any]) -> None:
        """Say that the run is over; only the best weights stay."""
        if not self.writes:
            return
        with _beside(self.folder / "finished.json") as beside:
            beside.write_text(json.dumps(progress), "utf-8")
        for state in self._states():
            shutil.rmtree(state)

    def finished(self) -> dict[str, Any] | None:
        """How the run ended; None while it hasn't."""
        path = self.folder / "finished.json"
        return _json(path) if path.exists() else None

    def _note_where(self, where: Mapping[str, Any]) -> None:
        """Write down how it is computed from here on, and warn where that changes in the middle of a run."""
        path = self.folder / "where.json"
        if path.exists() and self._states() and _json(path) != dict(where):
            logger.warning(
                "%s: the interrupted run goes on in another way: %s. What it learns is as good, but sums are rounded "
                "and dropout is drawn otherwise, so it will not end bit-equal to an uninterrupted one",
                self.folder,
                _difference(path, where),
            )
        with _beside(path) as beside:
            beside.write_text(json.dumps(where, sort_keys=True, indent=1), "utf-8")

    def _best(self, step: int) -> Path:
        return self.folder / f"best-{step}.safetensors"

    def _states(self) -> list[Path]:
        found = [path for path in self.folder.glob("state-*") if path.name.removeprefix("state-").isdigit()]
        return sorted(found, key=lambda path: int(path.name.removeprefix("state-")))

    def _drop_weights_but(self, step: int) -> None:
        named = {self._best(step)}
        named |= {self._best(_json(state / "progress.json")["best_step"]) for state in self._states()}
        for path in set(self.folder.glob("best-*.safetensors")) - named:
            path.unlink()


def digest_tensors(tensors: Tensors) -> str:
    """Name weights by their bytes."""
    hasher = blake2b(digest_size=16)
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        hasher.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        hasher.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return hasher.hexdigest()


def _apart(tensors: Tensors) -> Tensors:
    """Tied tensors as tensors of their own, since a safetensors file holds no sharing."""
    seen: set[int] = set()
    out = {}
    for name, value in tensors.items():
        shared = value.untyped_storage().data_ptr() in seen
        seen.add(value.untyped_storage().data_ptr())
        out[name] = value.clone() if shared else value.contiguous()
    return out


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Write a file or folder beside its name, flush it and rename it."""
    beside = path.with_name(f"{path.name}.tmp")
    if beside.is_dir():
        shutil.rmtree(beside)
    beside.unlink(missing_ok=True)
    yield beside
    for item in [*beside.rglob("*"), beside]:
        _sync(item)
    if path.is_dir():
        shutil.rmtree(path)
    beside.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _json(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return content


def _difference(path: Path, identity: Mapping[str, Any]) -> str:
    held = _json(path)
    names = sorted(name for name in {*held, *identity} if held.get(name) != identity.get(name))
    return ", ".join(f"{name} {held.get(name)!r} there, {identity.get(name)!r} here" for name in names)
