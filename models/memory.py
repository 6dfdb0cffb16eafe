"""Memory that was freed and is kept by the C library for later."""

import ctypes
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Give freed memory back to the system, where the C library can (glibc); elsewhere do nothing.

    Chunks of different lengths leave holes that the next one's tensors do not fit into, and the process grows by every
    chunk though each frees what it used.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL("libc.so.6").malloc_trim  # type: ignore[no-any-return]
    except (OSError, AttributeError):
        return None
