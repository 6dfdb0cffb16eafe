"""The gradient cache: the same loss and the same gradients as without it (pitfall 22)."""

import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import sentences
from torch import Tensor

from models.batching import chunks_by_length
from models.cache import Group, backward
from models.drawing import Draw
from models.lists import Batch, Judged, Role, TrainingLists, pair_keys
from models.loop import StudentPlan, batch_loss, chunked
from models.objectives import Term
from models.regime import seeded
from models.runtime import Runtime
from models.student import Student

FP32 = Runtime("cpu", "fp32", 1)
EVERYTHING = 10_000
MIXES = {
    "contrastive": (Term("contrastive", tau=0.1),),
    "symmetric": (Term("contrastive", tau=0.1, symmetric=True),),
    "kl and contrastive": (Term("kl", tau=0.1, teacher_tau=2.0), Term("contrastive", weight=0.2, tau=0.3)),
    "everything": (
        Term("kl", tau=0.2, rescale=True),
        Term("margin_mse", weight=0.1, tau=0.5),
        Term("contrastive", weight=0.7, tau=0.2, symmetric=True),
        Term("triplet", weight=0.4, margin=0.3),
    ),
    "margin_mse and triplet": (Term("margin_mse", weight=0.3, tau=0.2), Term("triplet", margin=0.5)),
}


def a_batch(student: Student) -> Batch:
    """Seven lists, some short or with two positives, over passages they share and some of which are approved."""
    drawing = np.random.default_rng(0)
    queries = np.repeat(np.arange(7), [5, 5, 3, 5, 2, 4, 5])
    passages = np.concatenate([drawing.choice(20, count, replace=False) for count in (5, 5, 3, 5, 2, 4, 5)])
    roles = np.where(np.r_[True, queries[1:] != queries[:-1]], Role.POSITIVE, Role.NEGATIVE).astype(np.int8)
    roles[1] = roles[14] = Role.POSITIVE
    roles[7] = Role.SOFT
    targets = drawing.normal(0, 3, len(queries)).astype(np.float32)
    approved = pair_keys(drawing.integers(0, 7, 12), drawing.integers(0, 20, 12), 20)
    lists = TrainingLists.build(
        Judged(queries, passages, roles, targets),
        student.tokenize_queries(sentences(7, seed=1, longest=8)),
        student.tokenize_passages(sentences(20, seed=2, longest=30)),
        pair_keys(queries[roles == 1], passages[roles == 1], 20),
        approved,
    )
    batch = lists.draw(Draw(batch=7, length=5, soft=True, positives=2, pick="balanced"), 0)
    assert batch.positives.sum() == 9 and batch.forbidden.sum() > 12 and not batch.mask.all()
    return batch


def gradients(student: Student, plan: StudentPlan, seed: int = 3) -> tuple[float, dict[str, Tensor]]:
    """Loss and every gradient of one batch."""
    for parameter in student.parameters():
        parameter.grad = None
    batch = a_batch(student)
    with seeded("cpu", seed):
        groups = chunked(student, batch, plan.chunk_tokens)
        loss = backward(groups, partial(batch_loss, student, plan, batch), "cpu", plan.cache)
    found = {name: p.grad.clone() for name, p in student.named_parameters() if p.grad is not None}
    assert len(found) > 20 and max(float(gradient.abs().max()) for gradient in found.values()) > 1e-4
    return loss, found


def assert_same(one: tuple[float, dict[str, Tensor]], other: tuple[float, dict[str, Tensor]]) -> None:
    assert one[0] == pytest.approx(other[0], rel=1e-5)
    assert one[1].keys() == other[1].keys()
    for name, gradient in one[1].items():
        torch.testing.assert_close(
            gradient, other[1][name], rtol=1e-3, atol=2e-6, msg=lambda text, n=name: f"{n}: {text}"
        )


@pytest.mark.parametrize("chunk_tokens", [1, 60, 170])
@pytest.mark.parametrize(
    ("mix", "in_batch"),
    [("everything", True), ("symmetric", True), ("kl and contrastive", False), ("margin_mse and triplet", True)],
)
def test_cached_gradients_are_those_of_the_same_chunks_under_the_same_dropout(
    tiny_student: Path, mix: str, chunk_tokens: int, in_batch: bool
) -> None:
    student = Student.load(tiny_student, FP32)
    student.train()
    plan = {"steps": 1, "terms": MIXES[mix], "chunk_tokens": chunk_tokens, "in_batch": in_batch}
    plain = gradients(student, StudentPlan(**plan))
    assert_same(gradients(student, StudentPlan(**plan, cache=True)), plain)
    assert gradients(student, StudentPlan(**plan), seed=4)[0] != plain[0], "dropout is off; the test compares nothing"


@pytest.mark.parametrize("chunk_tokens", [1, 60, 170, EVERYTHING])
@pytest.mark.parametrize("mix", list(MIXES))
def test_cached_gradients_are_those_of_one_big_forward_without_dropout(
    tiny_student: Path, mix: str, chunk_tokens: int
) -> None:
    student = Student.load(tiny_student, FP32)
    student.eval()
    whole = gradients(student, StudentPlan(1, terms=MIXES[mix], chunk_tokens=EVERYTHING))
    assert_same(gradients(student, StudentPlan(1, terms=MIXES[mix], chunk_tokens=chunk_tokens, cache=True)), whole)
    assert_same(gradients(student, StudentPlan(1, terms=MIXES[mix], chunk_tokens=chunk_tokens)), whole)


@pytest.mark.parametrize("size", [1, 3, 4, 12])
def test_chunk_sizes_that_divide_and_do_not_give_each_input_its_own_gradient(size: int) -> None:
    weight = torch.randn(5, 3, requires_grad=True)
    inputs = torch.randn(12, 5)
    order = torch.randperm(12).tolist()
    chunks = [order[start : start + size] for start in range(0, 12, size)]

    def loss_of(outputs: Tensor) -> Tensor:
        return (outputs * torch.arange(36.0).reshape(12, 3)).tanh().sum()

    group = Group(lambda numbers: inputs[numbers] @ weight, chunks)
    (expected,) = torch.autograd.grad(loss_of(inputs @ weight), weight)
    for cached in (False, True):
        weight.grad = None
        backward([group], loss_of, "cpu", cached)
        assert weight.grad is not None
        torch.testing.assert_close(weight.grad, expected)


def test_only_one_chunk_has_a_graph_at_a_time(tiny_student: Path) -> None:
    student = Student.load(tiny_student, FP32)
    tokens = student.tokenize_passages(sentences(20, seed=5))
    alive: list[weakref.ref[Tensor]] = []
    most = with_graph = 0

    def run(numbers: list[int]) -> Tensor:
        nonlocal most, with_graph
        output = student.embed([tokens[number] for number in numbers])
        if output.requires_grad:
            with_graph += 1
            alive.append(weakref.ref(output))
            most = max(most, sum(ref() is not None for ref in alive))
        return output

    chunks = chunks_by_length([len(row) for row in tokens], 60)
    backward([Group(run, chunks)], lambda outputs: outputs.square().mean(), "cpu", cached=True)
    assert with_graph == len(chunks) > 3 and most == 1


def test_the_cache_leaves_the_random_state_where_the_plain_way_leaves_it(tiny_student: Path) -> None:
    student = Student.load(tiny_student, FP32)
    student.train()
    batch, after = a_batch(student), []
    for cached in (False, True):
        plan = StudentPlan(1, terms=MIXES["contrastive"], chunk_tokens=60, cache=cached)
        with seeded("cpu", 1):
            backward(chunked(student, batch, 60), partial(batch_loss, student, plan, batch), "cpu", cached)
            after.append(torch.get_rng_state())
    assert torch.equal(*after)


def test_with_bf16_the_cache_reaches_every_weight(tiny_student: Path) -> None:
    """Weights that autocast cached without a graph would get no gradient."""
    student = Student.load(tiny_student, Runtime("cpu", "bf16", 1))
    student.eval()
    plain = gradients(student, StudentPlan(1, chunk_tokens=60))
    cached = gradients(student, StudentPlan(1, chunk_tokens=60, cache=True))
    assert cached[0] == pytest.approx(plain[0], rel=0.02)
    assert cached[1].keys() == plain[1].keys()
    for name, gradient in cached[1].items():
        assert gradient.dtype == torch.float32
        assert float((gradient - plain[1][name]).norm()) <= 0.05 * float(plain[1][name].norm()) + 1e-4, name
