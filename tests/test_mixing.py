"""Several collections taught by turns."""

from dataclasses import replace

import numpy as np
import pytest
from tiny import WORDS

from models.mixing import MixedLists
from models.teaching import TeacherPlan, TeachingLists

PLAN = TeacherPlan(steps=4, lr=1e-3, batch=2, length=4, random_share=0.5)


def part(name: str, queries: int) -> TeachingLists:
    """Queries and passages that carry their collection's name."""
    return TeachingLists(
        queries=[f"{name} {WORDS[row]}" for row in range(queries)],
        passages=[f"{name} {word}" for word in WORDS[:30]],
        positives=[np.array([row]) for row in range(queries)],
        hard=[np.array([row + 10]) for row in range(queries)],
    )


def test_every_collection_is_seen_equally_often_however_small() -> None:
    """Otherwise the teacher of many trades is one of the largest collection's."""
    lists = MixedLists([part("large", 12), part("small", 2), part("middle", 6)])
    seen = [lists.draw(PLAN, step).pairs for step in range(lists.batches(PLAN))]
    names = [{text.split()[0] for pair in pairs for text in pair} for pairs in seen]
    assert all(len(name) == 1 for name in names), "negatives of another collection are told apart by their subject"
    assert [name for (name,) in names] == ["large", "small", "middle"] * 6
    shown = [{query for query, _ in pairs} for pairs in seen]
    assert set().union(*shown[0::3]) == set(lists.parts[0].queries), "an epoch shows the largest one whole"
    assert all(queries == set(lists.parts[1].queries) for queries in shown[1::3])


def test_draws_depend_on_seed_and_step_alone_and_the_order_of_collections_has_a_name() -> None:
    lists, turned = (MixedLists([part(name, 6) for name in names]) for names in (("a", "b"), ("b", "a")))
    assert lists.draw(PLAN, 5).pairs == lists.draw(PLAN, 5).pairs != lists.draw(replace(PLAN, seed=1), 5).pairs
    assert lists.draw(PLAN, 0).pairs != lists.draw(PLAN, 2).pairs
    assert len({lists.digest(), turned.digest(), MixedLists([part("a", 6)]).digest()}) == 3
    assert (len(lists), lists.without_hard) == (12, 0)


def test_no_collection_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one collection"):
        MixedLists([])
