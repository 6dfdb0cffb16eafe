"""A full disk, told in one way: what was being written, where, and how much is free."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Libraries that write for us keep the system's sentence and lose its number.
WORDS = tuple(os.strerror(number).lower() for number in FULL)


class DiskFull(OSError):
    """There is no room for what was to be written; what was there before is whole."""


@contextmanager
def told_when_full(path: Path, work: str) -> Iterator[None]:
    """Turn a library's error about a full disk into one for people.

    Args:
        path: The file or folder that is being written; it need not exist yet.
        work: What is being done, as in "no room to {work}".

    Raises:
        DiskFull: The system had no room: disk, quota or file-size limit.
    """
    try:
        yield
    except DiskFull:
        raise
    except Exception as error:
        if not is_full(error):
            raise
        raise DiskFull(
            f"{path}: no room to {work}; {free_on(path)}. Nothing of it was kept, and everything before it was: "
            f"make room and run again to go on. ({error})"
        ) from error


def is_full(error: BaseException) -> bool:
    """Whether an error, of whatever library, says that the disk is full."""
    told = str(error).lower()
    return (isinstance(error, OSError) and error.errno in FULL) or any(words in told for words in WORDS)


def free_on(path: Path) -> str:
    """Say how much is free where a path is or would be."""
    there = next(folder for folder in (path, *path.absolute().parents) if folder.is_dir())
    return f"{shutil.disk_usage(there).free / 2**20:,.1f} MiB are free on the disk of {there}"
