"""How a model computes while it learns must not change what it computes, nor stay with it afterwards."""

from pathlib import Path

import pytest
import torch
from torch import nn

from models.cache import Group, backward
from models.regime import dropout_of
from models.runtime import Runtime
from models.student import Student

TEXTS = ["how to read", "sort the list", "join table and column", "mean"]


@pytest.fixture
def student(tiny_student: Path) -> Student:
    return Student.load(tiny_student, Runtime("cpu", "fp32", 1))


def attention(student: Student) -> str:
    return str(student.model[0].model.config._attn_implementation)


def test_learning_takes_another_attention_with_the_same_vectors(student: Student) -> None:
    tokens = student.tokenize_passages(TEXTS)
    own = attention(student)
    student.eval()
    before = student.embed(tokens).detach()
    student.train()
    assert (own, attention(student)) == ("sdpa", "eager")
    with dropout_of(student.modules(), 0.0):
        learning = student.embed(tokens).detach()
    student.eval()
    assert attention(student) == own
    assert torch.allclose(before, learning, atol=1e-5)


def test_dropout_has_one_strength_for_as_long_as_the_block_lasts(student: Student) -> None:
    layers = [module for module in student.modules() if isinstance(module, nn.Dropout)]
    own = [layer.p for layer in layers]
    assert len(layers) > 3 and set(own) != {0.5}
    with dropout_of(student.modules(), 0.5):
        assert {layer.p for layer in layers} == {0.5}
    assert [layer.p for layer in layers] == own
    with dropout_of(student.modules(), None):
        assert [layer.p for layer in layers] == own


def test_without_dropout_a_step_draws_nothing(student: Student) -> None:
    tokens = student.tokenize_passages(TEXTS)
    student.train()
    with dropout_of(student.modules(), 0.0):
        assert torch.equal(student.embed(tokens), student.embed(tokens))
    with dropout_of(student.modules(), 0.5):
        assert not torch.equal(student.embed(tokens), student.embed(tokens))


def test_widths_rounded_up_give_the_same_vectors(student: Student) -> None:
    tokens = student.tokenize_passages(TEXTS)
    student.eval()
    together = student.embed(tokens).detach()
    alone = torch.cat([student.embed([row]).detach() for row in tokens])
    assert len({len(row) for row in tokens}) > 1
    assert torch.allclose(together, alone, atol=1e-5)


def test_one_autocast_for_all_chunks_casts_each_weight_once_and_moves_no_gradient_away(tiny_student: Path) -> None:
    student = Student.load(tiny_student, Runtime("cpu", "bf16", 1))
    tokens = student.tokenize_passages(TEXTS)
    student.train()
    gradients = []
    for within in ({}, {"within": student.runtime.autocast}):
        with dropout_of(student.modules(), 0.0):
            student.model.zero_grad()
            group = Group(lambda numbers: student.embed([tokens[number] for number in numbers]), [[0, 1], [2, 3]])
            backward([group], lambda vectors: (vectors @ vectors.T).square().sum(), "cpu", **within)
        gradients.append(torch.cat([p.grad.flatten() for p in student.parameters() if p.grad is not None]))
    apart = torch.nn.functional.cosine_similarity(*gradients, dim=0)
    assert apart > 0.995
