"""Freed memory goes back to the system where a process has grown, and not after every chunk."""

from types import SimpleNamespace
from typing import Any

import pytest

from models import memory

GIB = 2**30


def test_it_is_given_back_only_where_the_process_has_grown_since_its_first_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A large batch of mixed lengths grew by half a gibibyte a minute, though every chunk freed what it used."""
    held = iter([1.0, 1.4, 1.6, 1.1, 1.3, 1.8, 1.7, 2.1, 2.3, 1.2])
    asked: list[int] = []
    monkeypatch.setattr(memory, "_trim", lambda: asked.append)
    ebb = memory.Ebb()
    read: Any = SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=int(next(held) * GIB)))
    ebb.process = read
    counts = []
    for _ in range(6):
        ebb.after_chunk()
        counts.append(len(asked))
    # 1.0 is the first chunk; 1.4 is within the room; 1.6 leaves 1.1; 1.8 leaves 1.7, which is all right from then on
    assert counts == [0, 0, 1, 1, 2, 2]
    ebb.after_chunk()
    assert len(asked) == 3


def test_where_the_c_library_cannot_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_trim", lambda: None)
    ebb = memory.Ebb()
    ebb.high = 1
    ebb.after_chunk()
    assert ebb.high == 1
