"""A summary tells how many of the mined queries a round gave up."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tasks.artifacts import make_artifact
from tasks.report.summary import Placed, notes_of


@pytest.mark.parametrize(
    ("step", "facts", "said"),
    [
        ("mine", {"dropped": 22}, ["Round 1, mine: 22 of 1,036 queries are not trained on"]),
        ("mine", {"dropped": 0}, []),
        ("denoise", {"empty_lists": 777}, ["Round 1, denoise: 777 of 1,036 queries have no candidate left"]),
        ("denoise", {"empty_lists": 0}, []),
    ],
)
def test_notes_tell_of_queries_that_a_round_leaves_out(
    tmp_path: Path, step: str, facts: Mapping[str, int], said: list[str]
) -> None:
    """A policy that leaves three queries of four without a candidate runs to its end, and would teach a quarter."""
    found = make_artifact(tmp_path, step, 1, {}, {}, lambda folder: {"queries": 1036, **facts})
    notes = notes_of([Placed(1, found)])
    assert [note[: len(start)] for note, start in zip(notes, said, strict=True)] == said
    assert notes_of([Placed(0, found)]) == [], "what is mined for a teacher is trained on in no round"
