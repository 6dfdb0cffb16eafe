"""Writing files of the user's: whole or not at all."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tasks.artifacts import publish_folder, sync


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give the name of a file beside `path` to write to; at the end it is flushed to disk and takes that place.

    Folders above it are made. Where the block fails, what stood there stays, and nothing is left beside it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        yield beside
        sync(beside)
        beside.replace(path)
        sync(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; folders above it are made."""
    with replacing(path) as beside:
        beside.write_bytes(content)


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder of files beside its name, flush it to disk and rename it; folders above it are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    beside.mkdir()
    try:
        for name, content in files.items():
            (beside / name).write_bytes(content)
        publish_folder(beside, path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
