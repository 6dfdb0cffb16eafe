"""Folders that many tests begin with: made once by a process, and copied for each."""

import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

Make = Callable[[Path], object]


def copied(make: Make, folder: Path) -> None:
    """Fill a folder as `make` does, which is asked once."""
    shutil.copytree(_made(make), folder, dirs_exist_ok=True)


@cache
def _made(make: Make) -> Path:
    kept = tempfile.TemporaryDirectory(prefix="remine-tests-")
    _KEPT.append(kept)  # until the process ends
    folder = Path(kept.name) / "made"
    folder.mkdir()
    make(folder)
    return folder


_KEPT: list["tempfile.TemporaryDirectory[str]"] = []
