"""Steps of a plan are timed on a few lists: what whole batches take is told from two smaller ones."""

import pytest

from models.trial import extrapolated


def test_the_optimizers_part_of_a_step_is_not_taken_for_the_lists() -> None:
    """Scaled by its lists alone, a batch an eighth as large said 1.15 s for a step that took 0.56."""
    optimizer, of_list = 0.08, 0.0075
    looks = [(batch, optimizer + of_list * batch) for batch in (8, 16)]
    assert extrapolated(looks, 64) == pytest.approx(optimizer + of_list * 64)


@pytest.mark.parametrize(
    ("looks", "batch", "seconds"),
    [
        ([(8, 0.2), (16, 0.1)], 64, 0.1),  # a disturbed first look: not less than what was seen
        ([(8, 0.1), (16, 0.9)], 64, 3.6),  # a disturbed second one: not more than by its lists
        ([(2, 0.1), (2, 0.2)], 8, 0.8),  # batches too small to differ
        ([(2, 0.1), (2, 0.2)], 2, 0.2),
    ],
)
def test_disturbed_looks_stay_within_reason(looks: list[tuple[int, float]], batch: int, seconds: float) -> None:
    assert extrapolated(looks, batch) == pytest.approx(seconds)
