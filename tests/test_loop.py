"""Training a student: what each objective sees, learns and refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import nn
from training import FP32, PLAN, N, by_weights, flat, make_lists, scripted, train

from models.drawing import Draw
from models.lists import Judged, TrainingLists, pair_keys
from models.loop import StudentPlan, scored, train_student
from models.objectives import Term, mixed
from models.runtime import Runtime
from models.student import Student


def test_dropout_is_on_in_training_and_off_in_evaluation(tiny_student: Path, tmp_path: Path) -> None:
    modes = []
    _, first = train(tiny_student, tmp_path / "a", measure=lambda s: modes.append(s.model.training) or 0.5)
    student = Student.load(tiny_student, FP32)
    for module in student.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    still = train_student(student, make_lists(student), PLAN, lambda s: 0.5, tmp_path / "b")
    assert modes == [False] * 4
    assert still.history[1].loss != first.history[1].loss


@pytest.mark.parametrize("term", [Term("contrastive", tau=0.1), Term("kl", tau=0.1), Term("margin_mse", tau=0.1)])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_every_objective_teaches_the_order_of_its_lists(
    tiny_student: Path, tmp_path: Path, term: Term, precision: Literal["fp32", "bf16"]
) -> None:
    student = Student.load(tiny_student, Runtime("cpu", precision, 1))
    lists = make_lists(student)

    def ordered(student: Student) -> float:
        with torch.no_grad():
            batch = lists.draw(Draw(batch=N, length=4), 0)
            scores = student.scores(student.embed(batch.queries), student.embed(batch.passages))
            held = scores.gather(1, torch.from_numpy(batch.columns))
        return float((held[:, :1] > held[:, 1:]).float().mean())

    plan = StudentPlan(steps=40, batch=5, length=4, terms=(term,), lr=3e-3, evaluate_every=20)
    trained = train_student(student, lists, plan, ordered, tmp_path)
    assert trained.history[0].measure is not None and trained.history[0].measure < 0.7
    assert trained.best_measure > 0.95 and ordered(student) == trained.best_measure


def test_bf16_trains_float32_weights(tiny_student: Path, tmp_path: Path) -> None:
    student = Student.load(tiny_student, Runtime("cpu", "bf16", 1))
    before = flat(student)
    trained = train_student(student, make_lists(student), PLAN, scripted([0.1, 0.2, 0.3, 0.4]), tmp_path / "bf16")
    _, exact = train(tiny_student, tmp_path / "fp32", measure=scripted([0.1, 0.2, 0.3, 0.4]))
    assert all(parameter.dtype == torch.float32 for parameter in student.parameters())
    assert not torch.equal(flat(student), before)
    assert trained.history[1].loss == pytest.approx(exact.history[1].loss, rel=0.05)


def test_candidates_without_a_teachers_score_are_refused_before_the_first_step(
    tiny_student: Path, tmp_path: Path
) -> None:
    """Pitfall 8."""
    student = Student.load(tiny_student, FP32)
    lists = make_lists(student, targets=False)
    with pytest.raises(ValueError, match=r"kl \+ contrastive, random draws: 40 of 40 candidates have no teacher score"):
        train_student(student, lists, PLAN, by_weights, tmp_path)
    labels = replace(PLAN, terms=(Term("contrastive"),), steps=1)
    with pytest.raises(ValueError, match="contrastive, balanced draws: 40 of 40"):
        train_student(student, lists, replace(labels, pick="balanced"), by_weights, tmp_path)
    assert train_student(student, lists, labels, by_weights, tmp_path).steps == 1


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"length": 1}, True),
        ({"length": 1, "terms": (Term("contrastive"),)}, False),
        ({"length": 1, "terms": (Term("contrastive"),), "in_batch": False}, True),
    ],
)
def test_lists_that_offer_nothing_beside_their_positive_are_refused_where_the_batch_adds_nothing(
    tiny_student: Path, tmp_path: Path, change: dict[str, Any], refused: bool
) -> None:
    plan = replace(PLAN, steps=1, **change)
    if refused:
        with pytest.raises(ValueError, match="10 of 10 lists of length 1 offer nothing"):
            train(tiny_student, tmp_path, plan)
    else:
        assert train(tiny_student, tmp_path, plan)[1].steps == 1


def test_contrastive_terms_see_the_batch_and_teacher_terms_their_lists(tiny_student: Path) -> None:
    """Pitfalls 9 and 24: an in-batch passage has no teacher score and gets none; a forbidden one is no negative."""
    lists = make_lists(Student.load(tiny_student, FP32))
    batch = lists.draw(PLAN.draw, 0)
    scores = torch.randn(len(batch.lists), len(batch.passages))
    own, wide = scored(batch, scores, in_batch=True)
    assert own.student.shape == (4, 3) and wide.student.shape == scores.shape
    assert bool(own.positives[:, 0].all()) and not bool(own.positives[:, 1:].any())
    for row in range(4):
        place = int(batch.columns[row, 0])
        assert wide.positives[row].nonzero().flatten().tolist() == [place] and bool(wide.mask[row, place])
        assert batch.forbidden[row, place]
    assert bool((wide.mask == (~torch.from_numpy(batch.forbidden) | wide.positives)).all())
    _, narrow = scored(batch, scores, in_batch=False)
    assert torch.equal(narrow.mask, torch.from_numpy(batch.negatives) | own.positives)


def test_several_positives_of_a_list_are_positives_in_every_term(tiny_student: Path) -> None:
    rows = [(0, 0, 1), (0, 1, 1), (0, 2, 0), (1, 3, 1), (1, 2, 0)]  # query, passage, role
    queries, passages, roles = (np.array(column) for column in zip(*rows, strict=True))
    judged = Judged(queries, passages, roles.astype(np.int8), np.linspace(3, -3, 5).astype(np.float32))
    tokens = [[row] for row in range(4)]
    lists = TrainingLists.build(judged, tokens, tokens, pair_keys(queries[roles == 1], passages[roles == 1], 4))
    batch = lists.draw(StudentPlan(1, batch=2, length=3, positives=2).draw, 0)
    own, wide = scored(batch, torch.zeros(2, 4), in_batch=True)
    first, second = (int(np.flatnonzero(batch.lists == number)[0]) for number in (0, 1))
    assert own.positives[first].tolist() == [True, True, False] and own.positives[second].tolist()[0]
    assert wide.positives[first].tolist() == [True, True, False, False]
    assert wide.positives[second].tolist() == [False, False, False, True]
    assert wide.mask[first].tolist() == [True] * 4 and wide.mask[second].tolist() == [True] * 4


def test_a_symmetric_term_without_the_batchs_passages_is_refused() -> None:
    with pytest.raises(ValueError, match="symmetric contrastive term without in-batch negatives"):
        StudentPlan(1, terms=(Term("contrastive", symmetric=True),), in_batch=False)


@pytest.mark.parametrize("in_batch", [True, False])
def test_an_approved_candidate_is_learned_from_the_teacher_and_never_pushed_away(in_batch: bool) -> None:
    """Pitfall 24 to the gradient: own soft candidates, another query's positive, a stored approval."""
    rows = [(0, 0, 1), (0, 1, 2), (0, 2, 0), (1, 1, 1), (1, 2, 0), (1, 3, 0)]  # query, passage, role
    queries, passages, roles = (np.array(column) for column in zip(*rows, strict=True))
    judged = Judged(queries, passages, roles.astype(np.int8), np.linspace(3, -3, 6).astype(np.float32))
    known = pair_keys(np.array([0, 1]), np.array([0, 1]), 4)
    tokens = [[row] for row in range(4)]
    lists = TrainingLists.build(judged, tokens, tokens, known, pair_keys(np.array([1]), np.array([2]), 4))
    moved = {}
    for name in ("kl", "contrastive"):
        plan = StudentPlan(1, batch=2, length=3, terms=(Term("kl"),), in_batch=in_batch)
        batch = lists.draw(plan.draw, 0)
        scores = torch.zeros(2, 4, requires_grad=True)
        mixed((Term(name),), *scored(batch, scores, in_batch)).backward()
        assert [row[0] for row in batch.passages] == [0, 1, 2, 3] and scores.grad is not None
        rows_of = [int(np.flatnonzero(batch.lists == number)[0]) for number in (0, 1)]
        moved[name] = (scores.grad[rows_of] != 0).tolist()
    assert moved["kl"] == [[True, True, True, False], [False, True, True, True]]
    others = [True, False, True, True], [True, True, False, True]
    alone = [True, False, True, False], [False, True, False, True]
    assert moved["contrastive"] == list(others if in_batch else alone)
    assert not StudentPlan(1, terms=(Term("contrastive"),)).draw.soft


def test_ranges_that_cannot_meet_are_warned_of_with_both_numbers(
    tiny_student: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Pitfall 12: a cosine against logits of a cross-encoder."""
    train(tiny_student, tmp_path / "far", replace(PLAN, steps=1, terms=(Term("margin_mse", tau=1.0),)))
    assert (
        "margin_mse: the teacher's logits span" in caplog.text
        and "a cosine divided by tau 1 spans -1 to 1" in caplog.text
    )
    caplog.clear()
    train(tiny_student, tmp_path / "near", replace(PLAN, steps=1, terms=(Term("margin_mse", tau=0.05),)))
    assert not caplog.text
