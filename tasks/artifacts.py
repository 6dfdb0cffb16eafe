"""Artifacts: folders that exist only when whole, named by everything that determines them."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tasks.identity import fingerprint
from tasks.settings import Settings
from warehouse.disk import told_when_full

RECORDED = ("torch", "transformers", "sentence-transformers", "faiss-cpu", "duckdb", "polars", "prefect", "bm25s")

Build = Callable[[Path], Mapping[str, Any]]

_looking: ContextVar[bool] = ContextVar("looking", default=False)


class Artifact(Settings):
    """A small reference to a finished folder; what steps hand each other."""

    step: str
    fingerprint: str
    path: Path

    def file(self, name: str) -> Path:
        """The path of one file inside; it must exist."""
        path = self.path / name
        if not path.exists():
            raise FileNotFoundError(f"{path}: the {self.step} artifact is incomplete; delete its folder and run again")
        return path

    @property
    def facts(self) -> dict[str, Any]:
        """What the step wrote down about its result (counts, choices, seconds)."""
        facts: dict[str, Any] = self.about()["facts"]
        return facts

    def about(self) -> dict[str, Any]:
        """The whole `artifact.json`."""
        about: dict[str, Any] = json.loads(self.file("artifact.json").read_text("utf-8"))
        return about


def name_artifact(root: Path, step: str, code: int, settings: Any, inputs: Mapping[str, str]) -> Artifact:
    """Name an artifact, whether or not it exists yet."""
    print_ = fingerprint(step, code, settings, dict(inputs))
    return Artifact(step=step, fingerprint=print_, path=root / step / print_[:16])


class NotMade(LookupError):
    """An artifact is not there, and nobody asked for it to be made.

    Attributes:
        artifact: Its name, and the folder it would be made in.
    """

    def __init__(self, artifact: Artifact) -> None:
        super().__init__(f"{artifact.path}: not made yet")
        self.artifact = artifact


@contextmanager
def looking() -> Iterator[None]:
    """Let steps name and find their artifacts, and neither make nor delete anything, inside the block.

    A step whose artifact is not there raises `NotMade`. So what a run would do is told by the very code that does it.
    """
    token = _looking.set(True)
    try:
        yield
    finally:
        _looking.reset(token)


def make_artifact(root: Path, step: str, code: int, settings: Any, inputs: Mapping[str, str], build: Build) -> Artifact:
    """Return the artifact of these settings and inputs, building it if it is not there.

    Args:
        root: Folder of all artifacts.
        step: The step's verb.
        code: The step's code version.
        settings: Everything set that changes the result; no paths, devices or batch sizes of inference.
        inputs: Fingerprints of what goes in, by role.
        build: Writes the files into the folder it is given and returns facts for `artifact.json`.

    Raises:
        DiskFull: There is no room for it; nothing of it is left.
        NotMade: It is not there, inside of `looking`.
    """
    artifact = name_artifact(root, step, code, settings, inputs)
    if (artifact.path / "artifact.json").exists():
        return artifact
    if _looking.get():
        raise NotMade(artifact)
    beside, started = _folder_beside(artifact.path), time.monotonic()
    try:
        with told_when_full(artifact.path, f"write the {step} artifact"):
            facts = build(beside)
            about = {
                "step": step,
                "fingerprint": artifact.fingerprint,
                "code": code,
                "settings": json.loads(settings.model_dump_json()) if isinstance(settings, Settings) else settings,
                "inputs": dict(inputs),
                "versions": installed_versions(),
                "seconds": round(time.monotonic() - started, 3),
                "made_at": datetime.now(UTC).isoformat(),
                "facts": dict(facts),
            }
            (beside / "artifact.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", "utf-8")
            publish_folder(beside, artifact.path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return artifact


def make_resumable(
    root: Path, step: str, code: int, settings: Any, inputs: Mapping[str, str], build: Callable[[Path, Path], Any]
) -> Artifact:
    """Return an artifact whose making can be interrupted: `build` also gets a folder in which it keeps its state.

    The state outlives whoever is killed, and goes when the artifact is there. See `make_artifact`.
    """
    state = root / "state" / name_artifact(root, step, code, settings, inputs).fingerprint[:16]
    artifact = make_artifact(root, step, code, settings, inputs, lambda folder: build(folder, state))
    if not _looking.get():
        shutil.rmtree(state, ignore_errors=True)
    return artifact


def _folder_beside(path: Path) -> Path:
    """Make an empty folder to build in; what killed runs left there goes."""
    beside = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    for left in path.parent.glob(f"{path.name}.tmp-*"):  # one run at a time: whoever wrote it is gone
        shutil.rmtree(left, ignore_errors=True)
    beside.mkdir(parents=True)
    return beside


def publish_folder(beside: Path, path: Path) -> None:
    """Flush a finished folder to disk and rename it to its name."""
    for item in sorted(beside.rglob("*")):
        if item.is_file():
            sync(item)
    if path.exists():
        shutil.rmtree(path)
    beside.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Flush one file or folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@cache
def installed_versions() -> dict[str, str]:
    """Versions of the libraries that a result depends on."""
    found = {}
    for name in RECORDED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
