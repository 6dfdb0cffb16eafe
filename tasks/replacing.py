"""Writing files of the user's: whole or not at all."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tasks.artifacts import publish_folder, sync


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its name, flush it to disk and rename it; folders above it are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        beside.write_bytes(content)
        sync(beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


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
