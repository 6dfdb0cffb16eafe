"""Where less would have done as much, the report says so."""

import pytest
from test_verdict import BASE, figures_of

from tasks.report.sections import shortcuts


@pytest.mark.parametrize(("hybrid", "told"), [(0.69, True), (0.671, True), (0.669, False), (0.5, False)])
def test_fusing_two_rankings_may_bring_most_of_the_gain(hybrid: float, told: bool) -> None:
    """round-2 gains 0.15; from four fifths of that on, whoever trains should know what comes for free."""
    found = shortcuts(figures_of("round-2", {**BASE, "hybrid": hybrid}))
    assert [text for text in found if text.startswith("Hybrid, which is BM25 and the untrained base together")] == (
        found[:1] if told else []
    )
    if told:
        assert f"is +{hybrid - 0.55:.3f} above the base, and round-2 is +0.150 above it" in found[0]


def test_re_ranking_may_bring_most_of_what_distillation_brought() -> None:
    (text,) = shortcuts(figures_of("round-2", BASE))
    assert text.startswith("The teacher re-ranking what warm finds is +0.050 above warm [95 % interval +0.0")
    assert "and round-2 is +0.050 above it" in text
    assert shortcuts(figures_of("round-2", {**BASE, "teacher": 0.68})) == [], "three fifths of it"


def test_a_teacher_that_is_not_proven_to_rank_better_is_not_recommended() -> None:
    """Equal to a student that gained nothing is no reason to ask a cross-encoder at every search."""
    assert shortcuts(figures_of("warm-long", {**BASE, "teacher": 0.651, "warm-long": 0.6501})) == []


def test_systems_that_were_not_measured_are_not_spoken_of() -> None:
    assert shortcuts(figures_of("round-1", {"base": 0.5, "round-1": 0.51})) == []
