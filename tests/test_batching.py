"""Length-sorted chunks under a token budget."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.batching import ahead, chunks_by_length, full_chunks, pad

LENGTHS = st.lists(st.integers(0, 60), max_size=60)


def cost(chunk: list[int], lengths: list[int]) -> int:
    return len(chunk) * max(lengths[number] for number in chunk)


def test_chunks_follow_a_worked_example() -> None:
    # Sorted: 9 | 5 5 | 4 4 | 2 1 under 12 needs 4 chunks; 10 is the least budget that still does.
    lengths = [4, 9, 5, 1, 4, 5, 2]
    assert chunks_by_length(lengths, 12) == [[1], [2, 5], [0, 4], [6, 3]]


def test_equal_texts_are_cut_evenly_and_not_into_a_full_chunk_and_a_remainder() -> None:
    assert [len(chunk) for chunk in chunks_by_length([3] * 9, 24)] == [5, 4]


def test_no_chunk_holds_more_texts_than_allowed() -> None:
    assert [len(chunk) for chunk in chunks_by_length([3] * 9, 1000, 4)] == [3, 3, 3]
    assert [len(chunk) for chunk in chunks_by_length([3] * 9, 1000)] == [9]


@given(LENGTHS, st.integers(1, 200), st.one_of(st.none(), st.integers(1, 9)))
def test_every_text_is_in_one_chunk_and_no_chunk_costs_more_than_the_budget(
    lengths: list[int], tokens: int, most: int | None
) -> None:
    """A text lost or read twice would put another text's vector in its row (pitfall 6)."""
    chunks = chunks_by_length(lengths, tokens, most)
    assert sorted(number for chunk in chunks for number in chunk) == list(range(len(lengths)))
    for chunk in chunks:
        assert len(chunk) == 1 or cost(chunk, lengths) <= tokens
        assert most is None or len(chunk) <= most
    in_order = [lengths[number] for chunk in chunks for number in chunk]
    assert in_order == sorted(lengths, reverse=True)


@given(LENGTHS, st.integers(1, 200))
def test_evening_out_never_costs_a_further_chunk(lengths: list[int], tokens: int) -> None:
    greedy, room = 0, 0
    for length in sorted(lengths, reverse=True):
        if room == 0:
            greedy, room = greedy + 1, max(1, tokens // max(1, length))
        room -= 1
    assert len(chunks_by_length(lengths, tokens)) <= greedy


def test_texts_of_equal_length_keep_their_order() -> None:
    """An unstable sort makes other batches, hence other last bits, on another machine (pitfall 20)."""
    assert [number for chunk in chunks_by_length([2] * 40, 16) for number in chunk] == list(range(40))


@pytest.mark.parametrize(("tokens", "most", "message"), [(0, None, "tokens=0"), (8, 0, "most=0")])
def test_a_budget_without_room_is_refused(tokens: int, most: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chunks_by_length([1, 2], tokens, most)


def test_full_chunks_follow_a_worked_example() -> None:
    # Widths in fours: 12 | 8 8 | 8 4 | 4 4: two of width 8 fit in 16 tokens, then four of width 4.
    lengths = [4, 9, 5, 1, 4, 6, 5, 2]
    assert full_chunks(lengths, 16, 4) == [[1], [5, 2], [6, 0], [4, 7, 3]]
    assert full_chunks([], 16, 4) == []


@given(LENGTHS, st.integers(1, 200), st.integers(1, 9))
def test_full_chunks_have_one_size_for_each_width(lengths: list[int], tokens: int, multiple: int) -> None:
    """Every new shape costs the time of half a batch in compiling."""
    chunks = full_chunks(lengths, tokens, multiple)
    assert sorted(number for chunk in chunks for number in chunk) == list(range(len(lengths)))
    sizes: dict[int, set[int]] = {}
    for chunk in chunks[:-1]:
        width = -(-max(lengths[number] for number in chunk) // multiple) * multiple
        sizes.setdefault(width, set()).add(len(chunk))
        assert len(chunk) == 1 or len(chunk) * width <= tokens
    assert all(len(found) == 1 for found in sizes.values())


@pytest.mark.parametrize(("tokens", "multiple", "message"), [(0, 1, "tokens=0"), (8, 0, "got 0")])
def test_full_chunks_refuse_what_has_no_room(tokens: int, multiple: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        full_chunks([1, 2], tokens, multiple)


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(ValueError, match="text 1 has -2 tokens"):
        chunks_by_length([1, -2], 8)


def test_padding_fills_the_gaps_on_the_side_asked_for() -> None:
    ids, mask = pad([[7, 8, 9], [5], []], 1)
    assert ids.tolist() == [[7, 8, 9], [5, 1, 1], [1, 1, 1]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0], [0, 0, 0]]
    ids, mask = pad([[7, 8, 9], [5]], 1, "left")
    assert ids.tolist() == [[7, 8, 9], [1, 1, 5]]
    assert mask.tolist() == [[1, 1, 1], [0, 0, 1]]
    assert pad([[7, 8, 9], [5]], 1, "right", 4)[0].tolist() == [[7, 8, 9, 1], [5, 1, 1, 1]]
    assert pad([[7, 8, 9], [5]], 1, "left", 4)[0].tolist() == [[7, 8, 9], [1, 1, 5]]  # positions must not move
    assert pad([], 0)[0].shape == torch.Size([0, 0])


def failing() -> Iterator[int]:
    yield 1
    yield 2
    raise RuntimeError("no third")


@pytest.mark.parametrize("wanted", [True, False])
def test_items_made_ahead_keep_their_order_and_their_errors(wanted: bool) -> None:
    """An error lost in a thread would end a scoring pass early with nobody told."""
    assert list(ahead(iter(range(50)), wanted)) == list(range(50))
    assert list(ahead(iter([]), wanted)) == []
    taken = []
    with pytest.raises(RuntimeError, match="no third"):
        for item in ahead(failing(), wanted):
            taken.append(item)
    assert taken == [1, 2]
