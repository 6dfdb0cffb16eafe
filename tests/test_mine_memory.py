"""Vectors in a file: blocks are read instead of mapped, so memory is bounded by the block and not by the file."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tasks.mine.search as searching
from tasks.mine.mapped import gather, let_go, products, read_block
from tasks.mine.search import top_k


@pytest.fixture
def file(tmp_path: Path) -> Path:
    np.save(tmp_path / "passages.npy", np.random.default_rng(0).integers(-9, 9, (1000, 6)).astype(np.float32))
    return tmp_path / "passages.npy"


@pytest.mark.parametrize(("first", "last"), [(0, 64), (64, 128), (960, 1024), (999, 1000)])
def test_a_block_of_a_file_is_those_rows(file: Path, first: int, last: int) -> None:
    """Pitfall 15: a wrong offset would give every passage another's vector."""
    whole, mapped = np.load(file), np.load(file, mmap_mode="r")
    for vectors in (whole, mapped, mapped[10:], np.asfortranarray(whole)):
        assert np.array_equal(read_block(vectors, first, last), np.asarray(vectors)[first:last])


def test_a_mapped_file_is_searched_like_an_array(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "PASSAGE_BLOCK", 96)
    whole, mapped = np.load(file), np.load(file, mmap_mode="r")
    for found, expected in zip(top_k(whole[:50], mapped, 20), top_k(whole[:50], whole, 20), strict=True):
        assert np.array_equal(found, expected)


def test_products_of_pairs_survive_letting_pages_go(file: Path) -> None:
    whole, mapped = np.load(file), np.load(file, mmap_mode="r")
    left, right = np.array([5, 5, 999]), np.array([0, 999, 7])
    for _ in range(2):
        assert np.array_equal(products((mapped, left), (mapped, right)), (whole[left] * whole[right]).sum(axis=1))
        let_go(mapped)


@pytest.mark.parametrize("rows", [[], [3], [999, 0, 5, 5, 4], [10, 18, 27, 900], list(range(1000))])
def test_gathered_rows_are_those_rows(file: Path, rows: list[int]) -> None:
    """Runs are read in one go, with the rows between them; each must come out at its own place."""
    whole, mapped = np.load(file), np.load(file, mmap_mode="r")
    asked = np.array(rows, np.int64)
    for vectors in (whole, mapped, mapped[:], np.asfortranarray(whole)):
        assert np.array_equal(gather(vectors, asked), whole[asked])


SEARCH = """
import sys
import numpy as np
import faiss, torch
from tasks.mine.mapped import gather
from tasks.mine.search import top_k
vectors = np.load(sys.argv[1], mmap_mode="r")
queries = np.array(vectors[:64])
top_k(queries, queries, 10)
def peak():  # not ru_maxrss, which begins with what the parent held
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
before = peak()
gather(vectors, np.random.default_rng(0).integers(0, len(vectors), 10_000))
print((peak() - before) // 1024)
before = peak()
top_k(queries, vectors, 100)
print((peak() - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells a process's own peak")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Pitfall 15: a file of 1,200 MB; a block is 128 MB. At most that, the results and 300 MB."""
    rows, width = 1_200_000, 256
    held = np.lib.format.open_memmap(tmp_path / "large.npy", "w+", np.float32, (rows, width))
    for first in range(0, rows, 100_000):
        held[first : first + 100_000] = np.random.default_rng(first).random((100_000, width), np.float32)
    del held
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, str(tmp_path / "large.npy")],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    gathered, searched = map(int, done.stdout.split())
    assert gathered <= 60  # 10,000 rows are 10 MB, twice; through a mapping they took the whole file into memory
    block = searching.PASSAGE_BLOCK * width * 4 / 2**20
    assert block <= searched <= block + 300
