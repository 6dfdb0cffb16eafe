"""The teacher's logit and the student's similarity become one judgement, on a scale of its own."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.denoise.blend import blended
from tasks.denoise.denoising import with_judgement
from tasks.refs import Blend, TeacherRef


def teacher(**changes: object) -> TeacherRef:
    return TeacherRef(fingerprint="t", path=Path("nowhere"), name="tiny", **changes)  # type: ignore[arg-type]


def test_a_blend_worked_by_hand() -> None:
    """Logits 1, 2, 3: mean 2, deviation √(2/3); similarities 0.9, 0.5, 0.1: mean 0.5, deviation 0.4·√(2/3)."""
    frame = pl.DataFrame({"query_hash": [7] * 3, "logit": [1.0, 2.0, 3.0], "similarity": [0.9, 0.5, 0.1]})
    z = 1 / math.sqrt(2 / 3)
    assert blended(frame, 0.25).to_list() == pytest.approx([-0.25 * z + 0.75 * z, 0.0, 0.25 * z - 0.75 * z])
    assert blended(frame, 0.0).to_list() == pytest.approx([z, 0.0, -z])
    assert blended(frame, 1.0).to_list() == [1.0, 2.0, 3.0]


def test_a_blend_stays_finite_where_nothing_differs() -> None:
    frame = pl.DataFrame({"query_hash": [1, 2, 2], "logit": [5.0, 3.0, 3.0], "similarity": [0.5, 0.1, 0.1]})
    assert blended(frame, 0.5).to_list() == [0.0, 0.0, 0.0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-80, 80), min_size=2, max_size=8, unique=True), st.integers(-50, 50), st.integers(1, 9))
def test_a_blend_ignores_offset_and_scale_of_a_query(values: list[int], offset: int, scale: int) -> None:
    logits = np.array(values, np.float64) / 8
    frame = pl.DataFrame({"query_hash": [1] * len(values), "logit": logits, "similarity": logits[::-1].copy()})
    moved = frame.with_columns(logit=pl.col("logit") * scale + offset)
    assert blended(moved, 0.3).to_list() == pytest.approx(blended(frame, 0.3).to_list(), abs=1e-9)


def test_a_pair_without_a_score_takes_no_part_in_the_standardisation() -> None:
    frame = pl.DataFrame(
        {"query_hash": [1] * 4, "logit": [1.0, 3.0, None, 2.0], "similarity": [0.2, 0.4, 99.0, 0.3]},
    )
    found = blended(frame, 0.5)
    assert found[2] is None
    assert found.drop_nulls().to_list() == pytest.approx(
        blended(frame.filter(pl.col("logit").is_not_null()), 0.5).to_list()
    )


def test_a_score_without_a_similarity_cannot_be_blended() -> None:
    frame = pl.DataFrame({"query_hash": [1, 1], "logit": [1.0, 3.0], "similarity": [0.2, None]})
    with pytest.raises(ValueError, match="1 scored pairs have no similarity"):
        blended(frame, 0.5)
    assert blended(frame, 1.0).to_list() == [1.0, 3.0]


def test_a_blended_judgement_is_on_the_calibrated_scale() -> None:
    frame = pl.DataFrame(
        {
            "query_hash": [1, 1],
            "passage_hash": [1, 2],
            "labelled": [True, False],
            "rank": [None, 1],
            "grade": [1, None],
            "similarity": [0.9, 0.1],
            "logit": [4.0, 2.0],
        }
    )
    judged = with_judgement(frame, teacher(a=2.0, b=-1.0, calibrated=True, blend=Blend(weight=0.5)))
    assert judged["judgement"].to_list() == pytest.approx([1.0, -3.0])
    assert judged["probability"].to_list() == pytest.approx([1 / (1 + math.exp(-1)), 1 / (1 + math.exp(3))])


def test_a_longer_list_is_judged_as_the_short_ones_were_that_the_weight_was_chosen_on() -> None:
    """Means over a hundred candidates would lift the first twenty, and the threshold would approve more of them."""
    short = pl.DataFrame(
        {
            "query_hash": [1] * 4,
            "passage_hash": range(4),
            "labelled": [True, False, False, False],
            "rank": [None, 1, 2, 3],
            "grade": [1, None, None, None],
            "similarity": [0.9, 0.8, 0.5, 0.4],
            "logit": [3.0, 1.0, 2.0, -1.0],
        }
    )
    deep = pl.concat(
        [short, short[1:].with_columns(rank=pl.col("rank") + 3, logit=pl.lit(-9.0), similarity=pl.lit(0.1))]
    )
    calibrated = teacher(a=2.0, b=-1.0, calibrated=True, blend=Blend(weight=0.4, depth=3))
    expected = with_judgement(short, calibrated)["judgement"].to_list()
    assert with_judgement(deep, calibrated)["judgement"][:4].to_list() == pytest.approx(expected)
    everywhere = calibrated.model_copy(update={"blend": Blend(weight=0.4)})
    assert with_judgement(deep, everywhere)["judgement"][1] > expected[1] + 0.1
