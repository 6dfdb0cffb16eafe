"""People read while a run writes: nobody is turned away, and nobody waits for long."""

import sys
from argparse import Namespace
from pathlib import Path

import pytest
from sources import write_words

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import reads

pytestmark = pytest.mark.slow


def test_reads_beside_a_run_do_not_fail_and_do_not_wait(tmp_path: Path, tiny_student: Path) -> None:
    """Pitfall 45: a reader locking the pipeline out, or the pipeline locking readers out for hours."""
    write_words(tmp_path / "data", 100)
    home = tmp_path / "home"
    home.mkdir()
    options = Namespace(folder=tmp_path / "data", student=str(tiny_student), reads=600, commands=6, pause=0.0)
    found, codes = reads.measure(options, home)
    assert not any(codes), (home / "log.txt").read_text("utf-8")[-3000:]
    assert {way: len(done.seconds) for way, done in found.items()} == reads.shares(600, 6)
    assert [failure for way in found.values() for failure in way.failures] == []
    # benchmarks/reads.py measures the waits; who is locked out by a run waits for a step of it, not for a load
    assert max(max(way.seconds) for way in found.values()) < 10
