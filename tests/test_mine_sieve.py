"""The sieve before exact search loses nothing, whatever the vectors look like."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tasks.mine.search as searching
from tasks.mine.order import NOTHING, finds_of, keys_of, ordered
from tasks.mine.search import top_k
from tasks.mine.sieve import Rounded, Sieve


def drawn(rows: int, width: int, seed: int, like: str = "unit") -> np.ndarray:
    """Vectors as students give them: of unit length, close together, or of very different lengths."""
    drawing = np.random.default_rng(seed)
    vectors = drawing.normal(size=(rows, width))
    if like == "narrow":  # all in one direction, as of a student from random weights
        vectors = vectors * 0.01 + 1
    if like == "opposite":  # every similarity is negative
        vectors = np.abs(vectors) * (1 if seed else -1)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if like == "lengths":
        vectors *= drawing.lognormal(sigma=2, size=(rows, 1))
    return vectors.astype(np.float32)


@pytest.fixture
def rough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the bf16 sieve on any machine and for small blocks."""
    monkeypatch.setattr(searching, "native_bf16", lambda device: True)
    monkeypatch.setattr(searching, "WORTH", 1)
    monkeypatch.setattr(searching, "PASSAGE_BLOCK", 700)
    monkeypatch.setattr(searching, "QUERY_BLOCK", 30)


@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize("like", ["unit", "narrow", "opposite", "lengths"])
@pytest.mark.parametrize("k", [1, 10, 90])
def test_behind_the_rough_sieve_the_lists_are_those_of_exact_products(like: str, k: int) -> None:
    """Compared with float64: rows may differ only where two scores are nearer than float32 can tell."""
    queries, passages = drawn(70, 48, 0, like), drawn(2000, 48, 1, like)
    exact = queries.astype(np.float64) @ passages.astype(np.float64).T
    scores, rows = top_k(queries, passages, k)
    best = -np.sort(-exact, axis=1)[:, :k]
    closeness = 1e-6 * np.abs(exact).max()
    assert np.allclose(np.take_along_axis(exact, rows, axis=1), best, rtol=0, atol=closeness)
    assert np.allclose(scores, best, rtol=0, atol=closeness)
    assert all(len(set(each)) == k for each in rows.tolist())


@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize("like", ["unit", "narrow", "opposite", "lengths"])
def test_rough_and_fine_sieve_give_the_same_bits(like: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a list would depend on the machine: one with bf16 would order near ties otherwise."""
    queries, passages = drawn(70, 48, 2, like), drawn(2000, 48, 3, like)
    passages[1500:1520] = passages[7]
    rough = top_k(queries, passages, 40)
    for block in (700, 123, 5000):
        monkeypatch.setattr(searching, "native_bf16", lambda device: False)
        monkeypatch.setattr(searching, "PASSAGE_BLOCK", block)
        for found, expected in zip(top_k(queries, passages, 40), rough, strict=True):
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("like", ["unit", "narrow", "opposite", "lengths"])
def test_no_product_is_further_off_than_the_sieve_believes(dtype: torch.dtype, like: str) -> None:
    queries, passages = (torch.from_numpy(drawn(rows, 384, rows, like)) for rows in (50, 900))
    sieve, asked = Sieve(passages, dtype), Rounded.of(queries, dtype)
    off = (asked.vectors.double() @ sieve.passages.vectors.double().T - queries.double() @ passages.double().T).abs()
    believed = sieve._error(asked)
    assert (off.amax(1).numpy() <= believed).all()
    assert believed.max() < (1e-4 if dtype == torch.float32 else 0.02) * float(passages.norm(dim=1).max()) * float(
        queries.norm(dim=1).max()
    )


def test_the_rough_sieve_lets_few_through_and_says_where_it_cannot_tell() -> None:
    """Letting everything through would be right as well, and slower than having no sieve."""
    queries, passages = (torch.from_numpy(drawn(rows, 384, rows)) for rows in (50, 20_000))
    nothing = np.full(50, -np.inf)
    places, _, unable = Sieve(passages, torch.bfloat16).passing(queries, 100, nothing)
    assert not unable.any()
    assert np.bincount(places).min() >= 100
    assert np.bincount(places).mean() < 250
    same = passages[:1].repeat(20_000, 1)
    assert Sieve(same, torch.bfloat16).passing(same[:3], 100, nothing[:3])[2].all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_lengths_beyond_float32_lose_nothing(dtype: torch.dtype) -> None:
    """Infinite bounds compare with nothing, and the search would be left with too few passages."""
    passages = torch.from_numpy(drawn(500, 8, 0)) * 3e38
    places, _, unable = Sieve(passages, dtype).passing(torch.from_numpy(drawn(3, 8, 1)) * 3e38, 5, np.full(3, -np.inf))
    assert unable.all() or (np.bincount(places, minlength=3) == 500).all()


def test_a_known_score_keeps_out_what_cannot_reach_it() -> None:
    """Later blocks of a large corpus have to cost little more than their products."""
    queries, passages = (torch.from_numpy(drawn(rows, 384, rows)) for rows in (50, 20_000))
    floor = (queries @ passages.T).amax(1).double().numpy()
    places, rows, _ = Sieve(passages, torch.bfloat16).passing(queries, 100, floor)
    assert set(zip(range(50), (queries @ passages.T).argmax(1).tolist(), strict=True)) <= set(
        zip(places.tolist(), rows.tolist(), strict=True)
    )
    assert np.bincount(places, minlength=50).mean() < 10


FINDS = st.tuples(st.floats(width=32, allow_nan=False), st.integers(-1, 2**31 - 1))


@settings(max_examples=50, deadline=None)
@given(st.lists(FINDS, min_size=1, max_size=30, unique=True))
def test_keys_sort_like_scores_and_rows(finds: list[tuple[float, int]]) -> None:
    scores = np.array([score for score, _ in finds], np.float32)
    rows = np.array([row for _, row in finds], np.int64)
    back = finds_of(keys_of(scores, rows))
    assert np.array_equal(back[0], scores)
    assert np.array_equal(back[1], rows)
    expected = np.lexsort((rows.astype(np.uint32), -scores))
    found = ordered(scores[None], rows[None], len(finds))
    assert np.array_equal(found[1][0], rows[expected])
    assert (keys_of(scores, rows) < NOTHING).all()
