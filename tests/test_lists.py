"""Training lists: what is drawn, what is masked, and what is refused."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.drawing import Draw, balanced_shares
from models.lists import Judged, Role, TrainingLists, pair_keys

P = 12
hypothesis_lists = st.lists(st.integers(-40, 40).map(lambda value: value * 0.25), min_size=1, max_size=30)
POSITIVE, NEGATIVE, SOFT = Role.POSITIVE, Role.NEGATIVE, Role.SOFT
# query row, passage row, role, logit; in rank order within a query
PAIRS = [
    (3, 0, POSITIVE, 5.0),
    (3, 1, NEGATIVE, 1.0),
    (3, 2, SOFT, 4.0),
    (3, 4, NEGATIVE, 0.5),
    (7, 5, POSITIVE, 6.0),
    (7, 6, POSITIVE, 4.5),
    (7, 0, NEGATIVE, -2.0),
    (7, 1, NEGATIVE, -1.0),
    (8, 9, NEGATIVE, 0.0),  # no positive
    (9, 1, POSITIVE, 3.0),
    (9, 8, NEGATIVE, -3.0),
]


def make(pairs: list[tuple[int, int, Role, float]] | None = None, known: list[int] | None = None) -> TrainingLists:
    rows = pairs if pairs is not None else PAIRS
    queries, passages, roles, targets = (np.asarray(column) for column in zip(*rows, strict=True))
    judged = Judged(queries, passages, roles.astype(np.int8), targets.astype(np.float32))
    positives = pair_keys(queries[roles == POSITIVE], passages[roles == POSITIVE], P)
    return TrainingLists.build(
        judged,
        query_tokens=[[2, 100 + row, 3] for row in range(10)],
        passage_tokens=[[2, *[200 + row] * (row + 1), 3] for row in range(P)],
        known=np.concatenate([positives, np.asarray(known or [], dtype=np.int64)]),
        approved=pair_keys(np.array([9]), np.array([5]), P),
    )


def row_of(lists: TrainingLists, batch: object, query: int) -> int:
    return int(np.flatnonzero(lists.queries[batch.lists] == query)[0])  # type: ignore[attr-defined]


def passage_of(tokens: list[int]) -> int:
    return tokens[1] - 200


def test_queries_without_a_positive_are_left_out_and_the_others_keep_their_tokens() -> None:
    lists = make()
    assert lists.queries.tolist() == [3, 7, 9]
    assert [tokens[1] for tokens in lists.query_tokens] == [103, 107, 109]
    assert lists.passages.tolist() == [0, 1, 2, 4, 5, 6, 0, 1, 1, 8]


def test_pairs_in_any_order_of_queries_give_the_same_lists() -> None:
    mixed_up = [pair for query in (9, 3, 8, 7) for pair in PAIRS if pair[0] == query]
    assert make(mixed_up).digest() == make().digest()


def test_a_batch_holds_each_passage_once_and_points_at_it() -> None:
    lists = make()
    batch = lists.draw(Draw(batch=3, length=4, soft=True), step=0)
    held = [passage_of(tokens) for tokens in batch.passages]
    assert len(set(held)) == len(held) > 4
    for row, number in enumerate(batch.lists):
        start, stop = lists.starts[number], lists.starts[number + 1]
        logits = dict(zip(lists.passages[start:stop].tolist(), lists.targets[start:stop].tolist(), strict=True))
        assert batch.queries[row] == lists.query_tokens[number]
        for column in np.flatnonzero(batch.mask[row]):
            assert batch.targets[row, column] == logits[held[batch.columns[row, column]]]


def test_the_first_candidate_is_a_positive_and_every_positive_is_drawn_in_time() -> None:
    lists, seen = make(), Counter[int]()
    for step in range(40):
        batch = lists.draw(Draw(batch=3, length=2), step)
        seen[passage_of(batch.passages[batch.columns[row_of(lists, batch, 7), 0]])] += 1
    assert set(seen) == {5, 6} and min(seen.values()) > 8


def test_short_lists_are_padded_with_a_mask_and_never_filled() -> None:
    """Pitfalls 19 and 31: nothing is taken from elsewhere to reach the length."""
    lists = make()
    batch = lists.draw(Draw(batch=3, length=4), step=0)
    lengths = {int(lists.queries[number]): int(row.sum()) for number, row in zip(batch.lists, batch.mask, strict=True)}
    assert lengths == {3: 3, 7: 3, 9: 2}
    assert bool(np.isnan(batch.targets[~batch.mask]).all()) and not batch.negatives[~batch.mask].any()


def test_lists_wished_longer_than_any_there_is_cost_no_memory_and_show_the_same() -> None:
    """A length of a thousand million was laid out as it stood: 40 GB for a batch of three."""
    lists = make()
    wished, there = (lists.draw(Draw(batch=3, length=length, soft=True), step=0) for length in (10**9, 4))
    assert wished.mask.shape == (3, 4)
    assert wished.columns.tolist() == there.columns.tolist()
    assert lists.draw(Draw(batch=1, length=10**9), step=0).mask.shape == (1, 4), "one width in every batch"


def test_soft_candidates_are_drawn_only_for_terms_that_read_the_teacher_and_are_never_negatives() -> None:
    lists = make()
    for step in range(20):
        hard, soft = (lists.draw(Draw(batch=3, length=9, soft=use, seed=step), step) for use in (False, True))
        assert 2 not in [passage_of(tokens) for tokens in hard.passages]
        row = row_of(lists, soft, 3)
        held = [passage_of(soft.passages[column]) for column in soft.columns[row][soft.mask[row]]]
        assert sorted(held) == [0, 1, 2, 4]
        assert not soft.negatives[row][held.index(2)] and soft.negatives[row][held.index(4)]
        place = [passage_of(tokens) for tokens in soft.passages].index(2)
        assert soft.forbidden[row, place] and not soft.forbidden[row_of(lists, soft, 7), place]


def test_no_passage_is_the_negative_of_a_query_that_it_is_a_positive_of_or_approved_for() -> None:
    """Pitfall 24: by identity, by known positives (labelled but not in the list), and by stored teacher scores."""
    lists = make(known=[int(key) for key in pair_keys(np.array([3]), np.array([8]), P)])
    barred = {(3, 0), (3, 2), (3, 8), (7, 5), (7, 6), (9, 1), (9, 5)}
    seen = set()
    for step in range(20):
        batch = lists.draw(Draw(batch=3, length=4, soft=True), step)
        for row, number in enumerate(batch.lists):
            for place, tokens in enumerate(batch.passages):
                pair = (int(lists.queries[number]), passage_of(tokens))
                assert bool(batch.forbidden[row, place]) == (pair in barred), pair
                seen.add(pair)
    assert barred <= seen


def test_a_negative_that_is_known_to_be_a_positive_is_not_used_as_a_negative() -> None:
    lists = make(known=[int(key) for key in pair_keys(np.array([3]), np.array([4]), P)])
    batch = lists.draw(Draw(batch=3, length=3), step=0)
    row = row_of(lists, batch, 3)
    used = {passage_of(batch.passages[column]) for column in batch.columns[row][batch.negatives[row]]}
    assert used == {1}


def test_top_takes_the_first_of_the_list_and_random_takes_others_every_epoch() -> None:
    lists = make([(0, 0, POSITIVE, 1.0), *[(0, row, NEGATIVE, 0.0) for row in (9, 3, 7, 1, 8, 2)]])

    def negatives(pick: str, step: int) -> list[int]:
        batch = lists.draw(Draw(batch=1, length=3, pick=pick), step)  # type: ignore[arg-type]
        return [passage_of(batch.passages[column]) for column in batch.columns[0][1:]]

    assert all(negatives("top", step) == [9, 3] for step in range(5))
    assert len({tuple(negatives("random", step)) for step in range(30)}) > 10
    assert {row for step in range(30) for row in negatives("random", step)} == {9, 3, 7, 1, 8, 2}


def test_a_pool_is_the_first_of_the_list_and_all_of_it_is_drawn() -> None:
    """RocketQA's four in turn: with `top`, the one hard negative of a list would be the same one for ever."""
    lists = make([(0, 0, POSITIVE, 5.0), (0, 1, SOFT, 4.0), *((0, number, NEGATIVE, 0.0) for number in range(2, P))])

    def seen(**options: Any) -> Counter[int]:
        batches = [lists.draw(Draw(batch=1, length=2, **options), step) for step in range(120)]
        return Counter(number for batch in batches for number in map(passage_of, batch.passages) if number)

    assert set(seen(pool=4)) == {2, 3, 4, 5} and min(seen(pool=4).values()) > 15
    assert set(seen(pool=4, soft=True)) == {1, 2, 3, 4}
    assert set(seen()) == set(range(2, P)) and set(seen(pick="top")) == {2}
    assert set(seen(pool=4, pick="balanced")) == {2, 3, 4, 5}
    with pytest.raises(ValueError, match="pool of -1"):
        Draw(batch=1, length=2, pool=-1)


def test_balanced_draws_show_a_few_hard_negatives_as_often_as_many_easy_ones() -> None:
    """TAS-B: margins 1 (two of them) and 10 (eight) are ends of ten bins; each end is drawn half of the time."""
    easy, hard = [(0, row, NEGATIVE, -5.0) for row in range(1, 9)], [(0, row, NEGATIVE, 4.0) for row in (9, 10)]
    lists = make([(0, 0, POSITIVE, 5.0), *easy, *hard])
    seen = {"random": 0, "balanced": 0}
    for pick in seen:
        for step in range(400):
            batch = lists.draw(Draw(batch=1, length=2, pick=pick), step)  # type: ignore[arg-type]
            seen[pick] += passage_of(batch.passages[batch.columns[0, 1]]) in (9, 10)
    assert 160 < seen["balanced"] < 240 and 50 < seen["random"] < 110


@settings(max_examples=60, deadline=None)
@given(hypothesis_lists)
def test_every_bin_of_margins_that_holds_any_has_the_same_chance(margins: list[float]) -> None:
    values = np.asarray(margins, dtype=np.float32)
    shares = balanced_shares(values)
    low, width = float(values.min()), float(values.max() - values.min()) / 10
    bins: dict[int, list[float]] = {}
    for value, share in zip(values.tolist(), shares.tolist(), strict=True):
        bins.setdefault(min(int((value - low) / width), 9) if width else 0, []).append(share)
    assert shares.sum() == pytest.approx(1.0)
    assert [sum(each) for each in bins.values()] == pytest.approx([1 / len(bins)] * len(bins))


def test_a_balanced_draw_without_a_score_is_refused() -> None:
    """Pitfall 8."""
    lists = make([(0, 0, POSITIVE, 5.0), (0, 1, NEGATIVE, 1.0), (0, 2, NEGATIVE, float("nan"))])
    with pytest.raises(ValueError, match="1 of 2 margins of a list are unknown"):
        lists.draw(Draw(batch=1, length=2, pick="balanced"), 0)


def test_a_list_holds_as_many_positives_as_there_are_and_others_for_the_rest() -> None:
    lists = make()
    for step in range(20):
        batch = lists.draw(Draw(batch=3, length=3, positives=2), step)
        row = row_of(lists, batch, 7)
        held = [passage_of(batch.passages[column]) for column in batch.columns[row]]
        assert set(held[:2]) == {5, 6} and held[2] in (0, 1)
        assert batch.positives[row].tolist() == [True, True, False]
        other = row_of(lists, batch, 3)
        assert batch.positives[other].tolist() == [True, False, False] and batch.negatives[other].sum() == 2
    with pytest.raises(ValueError, match="a list of 2 candidates cannot hold 3 positives"):
        Draw(batch=1, length=2, positives=3)


def test_an_epoch_shows_a_query_at_most_once_and_the_next_is_shuffled_anew() -> None:
    lists = make([(row, row % P, POSITIVE, 1.0) for row in range(10)])
    draw = Draw(batch=3, length=1)
    assert lists.batches(draw) == 3
    epochs = [np.concatenate([lists.draw(draw, 3 * epoch + step).lists for step in range(3)]) for epoch in range(4)]
    assert all(len(set(epoch.tolist())) == 9 for epoch in epochs)
    assert len({tuple(epoch.tolist()) for epoch in epochs}) == 4
    assert set(np.concatenate(epochs).tolist()) == set(range(10))


def test_a_draw_is_a_function_of_seed_and_step() -> None:
    """Pitfall 20, and what makes a resumed run equal to an uninterrupted one."""
    lists = make()
    draw = Draw(batch=2, length=3, soft=True, seed=5)
    later = lists.draw(draw, 17)
    lists.draw(draw, 3)
    again = make().draw(draw, 17)
    assert np.array_equal(later.lists, again.lists) and later.passages == again.passages
    assert np.array_equal(later.columns, again.columns)
    others = [lists.draw(Draw(batch=2, length=3, soft=True, seed=seed), 17) for seed in range(6, 16)]
    assert any(other.passages != later.passages for other in others)


def test_fewer_lists_than_a_batch_make_a_smaller_batch() -> None:
    batch = make().draw(Draw(batch=64, length=2), step=5)
    assert sorted(batch.lists.tolist()) == [0, 1, 2]
    assert batch.tokens == sum(map(len, batch.queries)) + sum(map(len, batch.passages)) > 9


def test_selected_lists_keep_their_own_candidates() -> None:
    lists = make()
    some = lists.select(lists.candidates(soft=True) >= 2)
    assert some.queries.tolist() == [3, 7] and some.passages.tolist() == [0, 1, 2, 4, 5, 6, 0, 1]
    assert lists.candidates(soft=False).tolist() == [2, 2, 1] and lists.candidates(soft=True).tolist() == [3, 2, 1]


def test_the_digest_names_everything_that_is_drawn_from() -> None:
    lists = make()
    variants = [
        make([*PAIRS[:1], (3, 1, NEGATIVE, 1.5), *PAIRS[2:]]),
        make([*PAIRS[:1], (3, 1, SOFT, 1.0), *PAIRS[2:]]),
        make(known=[7]),
        lists.select(np.array([True, True, False])),
    ]
    assert len({lists.digest(), *(variant.digest() for variant in variants)}) == 5


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([*PAIRS, (3, 1, NEGATIVE, 1.0)], "passage row 1 is twice in the list of query row 3"),
        ([(3, 1, NEGATIVE, 1.0)], "no lists to draw from"),
    ],
)
def test_lists_that_would_teach_nonsense_are_refused(pairs: list[tuple[int, int, Role, float]], message: str) -> None:
    """Pitfall 16: the same passage twice in a list."""
    with pytest.raises(ValueError, match=message):
        make(pairs).draw(Draw(batch=1, length=2), 0)


def test_lists_whose_arrays_do_not_belong_together_are_refused() -> None:
    lists = make()
    parts = {name: getattr(lists, name) for name in lists.__dataclass_fields__}
    with pytest.raises(ValueError, match="different lengths"):
        TrainingLists(**{**parts, "targets": lists.targets[:-1]})
    with pytest.raises(ValueError, match="don't describe the same lists"):
        TrainingLists(**{**parts, "query_tokens": lists.query_tokens[:-1]})
    with pytest.raises(ValueError, match="two lists"):
        TrainingLists(**{**parts, "queries": np.array([3, 3, 9])})
    with pytest.raises(ValueError, match=r"1 lists have no positive \(query row 9"):
        TrainingLists(**{**parts, "roles": np.array([1, 0, 2, 0, 1, 1, 0, 0, 0, 0], dtype=np.int8)})
