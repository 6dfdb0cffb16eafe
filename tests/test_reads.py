"""People read while a run writes: nobody is turned away, and nobody waits for long."""

import sys
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
    found, codes = reads.measure(tmp_path / "data", home, str(tiny_student), 600)
    assert codes and not any(codes), (home / "log.txt").read_text("utf-8")[-3000:]
    assert sum(len(way.seconds) for way in found.values()) == 600
    assert [failure for way in found.values() for failure in way.failures] == []
    assert max(max(way.seconds) for way in found.values()) < 1
