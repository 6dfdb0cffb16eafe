"""Writing files of the user's: whole or not at all."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tasks.artifacts import publish_folder, sync

WAREHOUSE = ".duckdb"


def check_place(path: Path) -> None:
    """Refuse a place where a person's file cannot be written, before anything is computed for it.

    Raises:
        OSError: Its folder is not there or cannot be written to, or something other than a file has the name.
        ValueError: The name is a warehouse's.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: there is no such folder to write {path.name} into")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; needed the name of a file")
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is a device or a pipe, which a file would replace; needed the name of a file")
    if WAREHOUSE in path.suffixes:
        raise ValueError(f"{path}: that would be taken for a warehouse, or replace it; needed another name")
    beside = _beside(path.resolve())
    try:
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise type(error)(f"{path}: cannot be written: {error.strerror}") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give the name of a file beside `path` to write to; at the end it is flushed to disk and takes that place.

    Folders above it are made; a link stays, and the file that it points at is replaced. Where the block fails, what
    stood there stays, and nothing is left beside it.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = _beside(path)
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
    beside = _beside(path)
    beside.mkdir()
    try:
        for name, content in files.items():
            (beside / name).write_bytes(content)
        publish_folder(beside, path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp-{os.getpid()}")
