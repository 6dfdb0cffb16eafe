"""Folders that many tests begin with: made once by a process, and copied for each."""

import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

Make = Callable[[Path], Any]
KEPT: list["tempfile.TemporaryDirectory[str]"] = []  # until the process ends


def copied(make: Make, folder: Path) -> Any:
    """Fill a folder as `make` does, which is asked once; gives what it gave."""
    made, given = _made(make)
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return given


@cache
def _made(make: Make) -> tuple[Path, Any]:
    KEPT.append(tempfile.TemporaryDirectory(prefix="remine-tests-"))
    folder = Path(KEPT[-1].name) / "made"
    folder.mkdir()
    return folder, make(folder)
