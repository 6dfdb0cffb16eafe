"""Texts that share rows while a model learns are computed as if each were alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import sentences
from torch import nn

from models.packing import lay_out, packed_chunks, prepare
from models.regime import dropout_of
from models.runtime import Runtime
from models.student import Student
from models.teacher import Teacher

EXACT = Runtime("cpu", "fp32", 1)
TEXTS = sentences(12, seed=4, shortest=1, longest=30)
LENGTHS = st.lists(st.integers(1, 90), min_size=1, max_size=40)


@given(LENGTHS)
@settings(max_examples=50, deadline=None)
def test_every_token_has_one_place_and_shares_it_with_its_own_text_alone(lengths: list[int]) -> None:
    width = max(lengths) + 3
    layout = lay_out(lengths, width, "cpu")
    places = [layout.back[text, :length] for text, length in enumerate(lengths)]
    flat = torch.cat(places)
    assert len(flat.unique()) == sum(lengths)
    expected = torch.cat([text * width + torch.arange(length) for text, length in enumerate(lengths)])
    assert torch.equal(layout.take[flat], expected)
    row_width = layout.apart.shape[-1]
    for text, own in enumerate(places):
        row, column = own[0] // row_width, own % row_width
        seen = (~layout.apart[row, 0, column[0]]).nonzero().flatten()
        assert torch.equal(seen, column), text


@given(LENGTHS, st.integers(1, 200))
@settings(max_examples=50, deadline=None)
def test_chunks_hold_every_text_once_within_the_budget(lengths: list[int], tokens: int) -> None:
    chunks = packed_chunks(lengths, tokens)
    assert sorted(number for chunk in chunks for number in chunk) == list(range(len(lengths)))
    assert all(sum(lengths[number] for number in chunk) <= tokens or len(chunk) == 1 for chunk in chunks)


def test_a_budget_below_one_token_is_refused() -> None:
    with pytest.raises(ValueError, match="room for one token"):
        packed_chunks([3], 0)


def learned(model: Any, run: Any, packs: bool) -> tuple[torch.Tensor, torch.Tensor]:
    model._packs = packs
    model.model.zero_grad()
    model.train()
    with dropout_of(model.modules(), 0.0):
        made = run()
        (made * torch.linspace(-1, 1, made.numel()).view(made.shape)).sum().backward()
    gradient = torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None])
    return made.detach(), gradient


def test_a_student_learns_the_same_in_rows(tiny_student: Path) -> None:
    student = Student.load(tiny_student, EXACT)
    assert student.packs
    tokens = student.tokenize_passages(TEXTS)
    for one, other in zip(
        *(learned(student, lambda: student.embed(tokens), packs) for packs in (False, True)), strict=True
    ):
        assert torch.allclose(one, other, atol=1e-5)


def test_a_teacher_learns_the_same_in_rows(tiny_teacher: Path) -> None:
    teacher = Teacher.load(tiny_teacher, EXACT)
    assert teacher.packs
    inputs = teacher.assemble([(TEXTS[0], text) for text in TEXTS])
    for one, other in zip(
        *(learned(teacher, lambda: teacher.forward(inputs), packs) for packs in (False, True)), strict=True
    ):
        assert torch.allclose(one, other, atol=1e-5)


def test_the_bf16_copy_learns_in_rows_too(tiny_student: Path) -> None:
    """The copy's own hooks must see the layout, or texts of a row would mix."""
    student = Student.load(tiny_student, Runtime("cpu", "bf16", 1))
    tokens = student.tokenize_passages(TEXTS)
    (padded, one), (rows, other) = (learned(student, lambda: student.embed(tokens), packs) for packs in (False, True))
    assert torch.allclose(padded, rows, atol=0.03)
    assert torch.nn.functional.cosine_similarity(one, other, dim=0) > 0.98


def test_a_model_that_computes_otherwise_in_rows_keeps_padding(tiny_student: Path) -> None:
    """Positions inside of the encoder, say: the first text of a row would be right and the others wrong."""
    student = Student.load(tiny_student, EXACT)
    encoder = student.model[0].model.encoder
    encoder.layer[0].register_forward_pre_hook(
        lambda _, args: (args[0] + torch.arange(args[0].shape[1])[None, :, None] * 0.1, *args[1:])
    )
    assert not student.packs
    assert np.isfinite(student.embed(student.tokenize_passages(TEXTS)).detach().numpy()).all()


def test_a_model_without_an_encoder_keeps_padding() -> None:
    assert not prepare(nn.Linear(2, 2))


def test_inference_is_not_laid_out(tiny_student: Path) -> None:
    student = Student.load(tiny_student, EXACT)
    before = student.encode_passages(TEXTS).vectors
    assert student.packs
    student.embed(student.tokenize_passages(TEXTS))
    assert np.array_equal(student.encode_passages(TEXTS).vectors, before)
