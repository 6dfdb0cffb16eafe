"""Memory that was freed and that the C library keeps for later."""

import ctypes
from collections.abc import Callable
from functools import cache

import psutil

ROOM = 2**29  # bytes that a process may grow by before it gives anything back


class Ebb:
    """Gives freed memory back to the system where a process has grown since its first chunk (glibc; else never).

    Chunks of different lengths leave holes that the next one's tensors do not fit into, so a process grows though each
    chunk frees what it used. Giving back has its price: the next chunk asks for its pages anew.
    """

    def __init__(self) -> None:
        self.process, self.high = psutil.Process(), 0

    def after_chunk(self) -> None:
        """Look, and give back where there is reason to."""
        held = self.process.memory_info().rss
        self.high = self.high or held + ROOM
        trim = _trim()
        if held > self.high and trim is not None:
            trim(0)
            self.high = max(self.high, self.process.memory_info().rss + ROOM)


@cache
def _trim() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL("libc.so.6").malloc_trim
    except (OSError, AttributeError):
        return None
