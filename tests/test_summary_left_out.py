"""A summary tells what a round gave up, and how its training ended."""

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


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"steps": 60, "best_step": 40}, []),
        ({"steps": 60, "best_step": 0}, ["no checkpoint was better on dev than the student it began with, which is"]),
        ({"steps": 20, "best_step": 4}, ["stopped after 20 of 60 steps, because patience was at its end."]),
    ],
)
def test_notes_tell_how_a_training_ended(tmp_path: Path, facts: Mapping[str, int], said: list[str]) -> None:
    """A round that taught nothing gave the student it began with, and the summary told its measures and no more."""
    made = {"lists": 100, "measure": "nDCG@10", **facts}
    found = make_artifact(tmp_path, "train", 1, {"steps": 60, "batch": 8}, {}, lambda folder: made)
    notes = [note.removeprefix("Round 1, train: ") for note in notes_of([Placed(1, found)])]
    assert [note[: len(start)] for note, start in zip(notes, said, strict=True)] == said
