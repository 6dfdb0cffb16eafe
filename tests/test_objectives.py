"""Objectives: worked values, what they are invariant to, and parity with sentence-transformers."""

import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.objectives import Scored, Term, contrastive, kl, margin_mse, mixed, triplet

ALL = {
    "triplet": partial(triplet, margin=0.3),
    "contrastive": partial(contrastive, tau=0.7),
    "margin_mse": partial(margin_mse, tau=0.7),
    "kl": partial(kl, tau=0.7, teacher_tau=1.3),
}
seeds = st.integers(0, 10_000)


def lists(seed: int, rows: int = 3, width: int = 5, spread: float = 2.0) -> Scored:
    """Random lists of unequal length, at least two candidates each, the positive first."""
    drawing = torch.Generator().manual_seed(seed)
    student = torch.randn(rows, width, generator=drawing) * spread
    teacher = torch.randn(rows, width, generator=drawing) * 4
    lengths = torch.randint(2, width + 1, (rows, 1), generator=drawing)
    mask = torch.arange(width) < lengths
    positives = torch.zeros(rows, width, dtype=torch.bool)
    positives[:, 0] = True
    return Scored(student.requires_grad_(), teacher, positives, mask)


def one(student: list[float], teacher: list[float]) -> Scored:
    """One list whose first candidate is the positive."""
    positives = torch.tensor([[True] + [False] * (len(student) - 1)])
    return Scored(torch.tensor([student]), torch.tensor([teacher]), positives, torch.ones_like(positives))


def test_triplet_is_the_mean_hinge_over_positive_and_negative_pairs() -> None:
    # max(0, 0.2 - 0.9 + 0.8) = 0.1 and max(0, 0.2 - 0.9 + 0.3) = 0
    assert triplet(*one([0.9, 0.8, 0.3], [0, 0, 0])).item() == pytest.approx(0.05)


def test_contrastive_is_the_cross_entropy_of_the_positive_at_a_temperature() -> None:
    # scores over 0.5: 2, 1, 0
    expected = -math.log(math.exp(2) / (math.exp(2) + math.exp(1) + 1))
    assert contrastive(*one([1.0, 0.5, 0.0], [0, 0, 0]), tau=0.5).item() == pytest.approx(expected)


def test_margin_mse_is_the_mean_squared_difference_of_margins_over_all_negatives() -> None:
    # student margins over 0.5: 1 and 2; teacher's: 3 and 1; (1-3)^2 = 4, (2-1)^2 = 1
    assert margin_mse(*one([1.0, 0.5, 0.0], [4.0, 1.0, 3.0]), tau=0.5).item() == pytest.approx(2.5)


def test_kl_is_the_divergence_from_the_teacher_with_a_temperature_on_each_side() -> None:
    """Pitfall 26: log-probabilities go in, and the teacher's side weighs."""
    given_, wanted = [math.exp(2), math.exp(0)], [math.exp(1), math.exp(0.5)]
    p = [value / sum(wanted) for value in wanted]
    q = [value / sum(given_) for value in given_]
    expected = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    assert kl(*one([1.0, 0.0], [2.0, 1.0]), tau=0.5, teacher_tau=2.0).item() == pytest.approx(expected)


def test_kl_is_a_mean_over_lists_and_not_over_elements() -> None:
    """Pitfall 26: `mean` would shrink the loss with the length of the list."""
    first, second = one([1.0, 0.0, 0.3], [2.0, 1.0, 0.0]), one([0.1, 0.5, 0.9], [3.0, -1.0, 0.0])
    both = Scored(*[torch.cat(pair) for pair in zip(first, second, strict=True)])
    assert kl(*both).item() == pytest.approx((kl(*first).item() + kl(*second).item()) / 2, rel=1e-6)


def test_kl_stays_finite_for_a_teacher_that_underflows_float32() -> None:
    """Pitfall 26: a probability of exactly zero times a log of zero is NaN."""
    scored = one([0.9, 0.1, -0.9], [200.0, -200.0, 0.0])
    student = scored.student.clone().requires_grad_()
    loss = kl(student, *scored[1:], tau=0.01)
    loss.backward()
    assert math.isfinite(loss.item()) and student.grad is not None and bool(student.grad.isfinite().all())


@pytest.mark.parametrize("name", ["kl", "margin_mse"])
def test_a_student_that_matches_the_teacher_has_nothing_to_learn(name: str) -> None:
    scored = lists(3)
    perfect = scored._replace(student=scored.teacher.clone())
    loss = {"kl": partial(kl, tau=1.0), "margin_mse": margin_mse}[name](*perfect)
    assert loss.item() == pytest.approx(0.0, abs=1e-6)
    assert ALL[name](*scored).item() > 0.01


@pytest.mark.parametrize("name", ["contrastive", "kl", "margin_mse", "triplet"])
@settings(max_examples=30, deadline=None)
@given(seed=seeds, offset=st.floats(-5, 5), mine=st.booleans())
def test_a_constant_added_to_a_querys_scores_changes_nothing(name: str, seed: int, offset: float, mine: bool) -> None:
    scored = lists(seed)
    shift = torch.tensor([[offset], [0.0], [-2 * offset]])
    moved = scored._replace(**{"student" if mine else "teacher": (scored.student if mine else scored.teacher) + shift})
    assert ALL[name](*moved).item() == pytest.approx(ALL[name](*scored).item(), rel=1e-4, abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_the_symmetric_form_does_move_with_a_querys_offset(seed: int) -> None:
    scored = square(seed)
    offsets = [torch.tensor([[offset], [0.0], [0.0], [0.0]]) for offset in (0.0, 0.5, 2.0, 5.0)]
    both = partial(contrastive, tau=0.7, symmetric=True)
    values = [both(*scored._replace(student=scored.student + offset)).item() for offset in offsets]
    assert max(values) - min(values) > 1e-3  # two offsets may come to the same: the loss falls first and rises then


@pytest.mark.parametrize("name", list(ALL))
@settings(max_examples=30, deadline=None)
@given(seed=seeds, data=st.data())
def test_the_order_of_candidates_changes_nothing(name: str, seed: int, data: st.DataObject) -> None:
    scored = lists(seed)
    order = data.draw(st.permutations(range(5)))
    moved = Scored(*[part[:, order] for part in scored])
    assert ALL[name](*moved).item() == pytest.approx(ALL[name](*scored).item(), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", list(ALL))
@settings(max_examples=30, deadline=None)
@given(seed=seeds, rubbish=st.sampled_from([1e30, -1e30, math.inf, -math.inf, math.nan, 3.0]))
def test_a_masked_candidate_contributes_exactly_nothing(name: str, seed: int, rubbish: float) -> None:
    """Pitfall 31: neither to the loss nor to any gradient, whatever stands in the padding."""
    scored = lists(seed)
    loss = ALL[name](*scored)
    (gradient,) = torch.autograd.grad(loss, scored.student)
    filler = torch.full((3, 2), rubbish)
    off = torch.zeros(3, 2, dtype=torch.bool)
    student = torch.where(scored.mask, scored.student.detach(), torch.tensor(rubbish))
    student = torch.cat([student, filler], dim=1).requires_grad_()
    teacher = torch.cat([torch.where(scored.mask, scored.teacher, torch.tensor(rubbish)), filler], dim=1)
    padded = ALL[name](student, teacher, torch.cat([scored.positives, off], 1), torch.cat([scored.mask, off], 1))
    (widened,) = torch.autograd.grad(padded, student)
    assert padded.item() == pytest.approx(loss.item(), rel=1e-5, abs=1e-7)
    torch.testing.assert_close(widened[:, :5], gradient, rtol=1e-5, atol=1e-7)
    assert bool((widened[:, 5:] == 0).all()) and bool((widened[:, :5][~scored.mask] == 0).all())


@pytest.mark.parametrize("name", ["contrastive", "margin_mse", "triplet"])
def test_several_positives_are_several_rows_with_the_others_masked(name: str) -> None:
    scored = one([0.9, 0.5, 0.2, -0.3], [3.0, 2.0, 1.0, -1.0])
    two = scored._replace(positives=torch.tensor([[True, True, False, False]]))
    first = [Scored(*[part[:, [0, 2, 3]] for part in scored]), Scored(*[part[:, [1, 2, 3]] for part in scored])]
    first[1] = first[1]._replace(positives=first[0].positives)
    rows = Scored(*[torch.cat(pair) for pair in zip(*first, strict=True)])
    assert ALL[name](*two).item() == pytest.approx(ALL[name](*rows).item(), rel=1e-6)
    assert ALL[name](*two).item() != pytest.approx(ALL[name](*scored).item(), rel=1e-3)


@pytest.mark.parametrize("name", ["kl", "margin_mse"])
def test_a_list_of_one_candidate_is_refused_where_there_is_no_margin_and_no_distribution(name: str) -> None:
    scored = lists(0)
    mask = scored.mask.clone()
    mask[1, 1:] = False
    with pytest.raises(ValueError, match=r"list 1 of the batch has 1 candidate"):
        ALL[name](*scored._replace(mask=mask))
    assert contrastive(*scored._replace(mask=mask)).item() > 0


def test_a_list_of_positives_alone_has_no_margin() -> None:
    scored = one([0.9, 0.5], [3.0, 2.0])._replace(positives=torch.tensor([[True, True]]))
    with pytest.raises(ValueError, match=r"list 0 of the batch has 2 candidate\(s\) that are all positives"):
        margin_mse(*scored)
    assert kl(*scored).item() > 0


def test_a_query_without_negatives_adds_exactly_zero_to_the_contrastive_sum() -> None:
    scored = one([0.4], [0.0])
    student = scored.student.clone().requires_grad_()
    loss = contrastive(student, *scored[1:])
    loss.backward()
    assert loss.item() == 0 and student.grad is not None and bool((student.grad == 0).all())


@pytest.mark.parametrize("name", ["kl", "margin_mse"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_missing_teacher_score_is_refused_and_never_replaced(name: str, value: float) -> None:
    """Pitfalls 8 and 9: an unscored candidate given 0 outranks every negative logit."""
    scored = one([0.9, 0.8, 0.3], [4.0, 1.0, value])
    with pytest.raises(ValueError, match=r"candidate 2 of list 0 has the teacher score (nan|inf)"):
        ALL[name](*scored)
    assert contrastive(*scored).item() > 0


@pytest.mark.parametrize("name", ["contrastive", "margin_mse", "triplet"])
def test_a_list_without_a_positive_is_refused(name: str) -> None:
    scored = lists(0)
    with pytest.raises(ValueError, match="list 0 of the batch has no positive"):
        ALL[name](*scored._replace(positives=torch.zeros_like(scored.positives)))


@pytest.mark.parametrize("name", ["kl", "margin_mse"])
def test_the_teacher_gets_no_gradient(name: str) -> None:
    scored = lists(1)
    teacher = scored.teacher.clone().requires_grad_()
    ALL[name](*scored._replace(teacher=teacher)).backward()
    assert teacher.grad is None


def test_a_mix_is_the_weighted_sum_and_gives_each_term_its_own_lists() -> None:
    own, wide = lists(5), square(5)
    wide = wide._replace(student=wide.student[:3], positives=wide.positives[:3], mask=wide.mask[:3])
    terms = (
        Term("kl", weight=0.99, tau=0.3, teacher_tau=2.0),
        Term("contrastive", weight=0.2, tau=0.1),
        Term("margin_mse", weight=0.5, tau=0.4),
        Term("triplet", weight=0.7, margin=0.6),
    )
    expected = (
        0.99 * kl(*own, tau=0.3, teacher_tau=2.0)
        + 0.2 * contrastive(*wide, tau=0.1)
        + 0.5 * margin_mse(*own, tau=0.4)
        + 0.7 * triplet(*wide, margin=0.6)
    )
    assert mixed(terms, own, wide).item() == pytest.approx(expected.item(), rel=1e-6)
    rescaled = mixed([Term("kl", tau=0.3, rescale=True)], own, wide)
    assert rescaled.item() == pytest.approx(0.09 * kl(*own, tau=0.3).item(), rel=1e-5)


def test_a_mix_computes_in_float32_whatever_the_embeddings_are() -> None:
    scored = lists(2)
    halved = scored._replace(student=scored.student.detach().bfloat16())
    for objective in ALL.values():
        assert objective(*halved).dtype == torch.float32


@pytest.mark.parametrize(
    "bad",
    [{"name": "listnet"}, {"name": "kl", "tau": 0.0}, {"name": "kl", "weight": -1.0}, {"name": "kl", "tau": math.inf}],
)
def test_a_term_refuses_nonsense(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"listnet|above 0"):
        Term(**bad)  # type: ignore[arg-type]


def square(seed: int, size: int = 4) -> Scored:
    """In-batch scores: every query with every passage, its own on the diagonal."""
    drawing = torch.Generator().manual_seed(seed)
    student = torch.randn(size, size, generator=drawing).requires_grad_()
    return Scored(student, torch.full((size, size), math.nan), torch.eye(size).bool(), torch.ones(size, size).bool())


def test_a_passage_that_two_queries_share_is_nobodys_negative_in_either_direction() -> None:
    """Pitfall 24, seen from the passage."""
    student = torch.tensor([[0.9, 0.1], [0.8, 0.2]], requires_grad=True)
    positives = torch.tensor([[True, False], [True, False]])
    mask = torch.ones(2, 2, dtype=torch.bool)
    loss = contrastive(student, torch.zeros(2, 2), positives, mask, tau=1.0, symmetric=True)
    forward = (math.log(1 + math.exp(-0.8)) + math.log(1 + math.exp(-0.6))) / 2
    assert loss.item() == pytest.approx(forward / 2, rel=1e-5)
