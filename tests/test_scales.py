"""Pitfall 12: a student's range that the objective cannot use is warned of with both ranges, before the first step."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny import make_student
from training import FP32, PLAN, by_weights, make_lists

from models.loop import some_dots, train_student
from models.objectives import Term
from models.scales import scale_warnings
from models.student import Student

LOGITS = np.linspace(-11, 11, 201).astype(np.float32)
DOTS = np.linspace(30, 110, 101).astype(np.float32)


def test_what_a_cosine_reaches_is_known_and_compared() -> None:
    (said,) = scale_warnings([Term("margin_mse", tau=1.0), Term("margin_mse", tau=0.05)], LOGITS, None)
    assert "the teacher's logits span -10.8 to 10.8 (differences up to 21.6)" in said
    assert "a cosine divided by tau 1 spans -1 to 1 (differences up to 2); a smaller tau (about 0.093)" in said
    softer = scale_warnings([Term("kl", tau=0.5, teacher_tau=4.0), Term("kl", tau=0.5, teacher_tau=8.0)], LOGITS, None)
    assert len(softer) == 1 and "divided by 4 span -2.69 to 2.69 (differences up to 5.39)" in softer[0]
    assert scale_warnings([Term("contrastive", tau=0.001), Term("triplet")], LOGITS, None) == []


def test_probabilities_are_told_from_logits() -> None:
    """Pitfall 7."""
    shown = 1 / (1 + np.exp(-LOGITS))
    assert "as probabilities do" in scale_warnings([Term("kl", tau=0.5)], shown, None)[0]
    assert scale_warnings([Term("contrastive")], shown, None) == []
    assert scale_warnings([Term("kl")], np.full(3, np.nan, dtype=np.float32), None) == []


@pytest.mark.parametrize(
    ("term", "way", "about"),
    [
        (Term("margin_mse", tau=0.05), "larger", 3.6),  # 78.4 / 21.56
        (Term("kl", tau=0.05), "larger", 3.6),
        (Term("kl", tau=60.0), "smaller", 3.6),
        (Term("kl", tau=60.0, teacher_tau=8.0), None, 0),
        (Term("kl", tau=1.0), None, 0),
        (Term("margin_mse", tau=12.0), None, 0),
    ],
)
def test_dot_products_are_measured_and_compared_both_ways(term: Term, way: str | None, about: float) -> None:
    found = scale_warnings([term], LOGITS, DOTS)
    assert len(found) == (way is not None)
    for said in found:
        assert f"{term.name}: the teacher's logits span -10.8 to 10.8" in said
        assert f"dot products, before training, divided by tau {term.tau:g} span {30.8 / term.tau:.3g} to" in said
        assert f"a {way} tau (about {about:.2g}) brings them together" in said


def test_a_temperature_made_for_cosines_is_told_in_a_contrast_of_dot_products() -> None:
    (said,) = scale_warnings([Term("contrastive", tau=0.05)], LOGITS, DOTS)
    assert "divided by tau 0.05 span 616 to 2.18e+03 (differences up to 1.57e+03)" in said
    assert "a cosine's would span -20 to 20 (differences up to 40)" in said and "A larger tau (about 2)" in said
    assert scale_warnings([Term("contrastive", tau=1.0)], LOGITS, DOTS) == []


def test_a_dot_student_is_looked_at_before_its_first_step(
    tmp_path: Path, tiny_student: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without its Normalize module the tiny student's vectors have norms of five or so, and products of tens."""
    path = make_student(tmp_path / "dot", seed=1, similarity="dot", normalize=False)
    student = Student.load(path, FP32)
    lists = make_lists(student)
    dots = some_dots(student, lists, PLAN)
    assert dots is not None and dots.shape == (10 * PLAN.length,)
    queries, passages = student.embed(lists.query_tokens), student.embed(lists.passage_tokens)
    products = student.scores(queries, passages).detach().numpy()
    assert np.isin(dots.round(3), products.round(3)).all() and products.max() > 10

    steps: list[int] = []
    train_student(
        student, lists, replace(PLAN, steps=1, terms=(Term("kl", tau=0.02),)), by_weights, tmp_path / "a", steps.append
    )
    assert "kl: the teacher's logits span" in caplog.text
    assert f"before training, divided by tau 0.02 span {np.quantile(dots, 0.01) / 0.02:.3g} to" in caplog.text
    unit = make_student(tmp_path / "unit", seed=1, similarity="dot")
    for bounded in (tiny_student, unit):
        assert some_dots(Student.load(bounded, FP32), lists, PLAN) is None, "as far as -1 to 1, whatever is learned"
