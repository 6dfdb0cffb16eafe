"""The bf16 copy computes what the plain bf16 model computes, packed or not."""

from pathlib import Path

import pytest
import torch
from tiny import sentences
from torch import nn

import models.half
from models.half import HalfTwin, PackedLinear, PackedResidual, half_copy, packing_works
from models.runtime import Runtime
from models.student import Student
from models.teacher import Teacher

EXACT = Runtime("cpu", "fp32", 1)
ONEDNN = (
    hasattr(torch.ops.mkldnn, "_linear_pointwise")
    and torch.backends.mkldnn.is_available()
    and torch.ops.mkldnn._is_mkldnn_bf16_supported()
)
needs_packing = pytest.mark.skipif(not ONEDNN, reason="this torch or CPU has no packed bf16 layers")


def read(student: Student, first: nn.Module) -> torch.Tensor:
    with torch.inference_mode():
        features = student._features(student.towers[0], student.tokenize_passages(sentences(8, seed=6)))
        return student._finish(student.towers[0], first(features))


@needs_packing
def test_packed_layers_are_used_where_the_machine_has_them() -> None:
    """A packed layer that computes something else is left out, silently: here it must not be."""
    assert packing_works()


@needs_packing
def test_packed_layers_compute_what_plain_ones_do() -> None:
    """A GELU or a residual lost in the fusion would still give plausible vectors."""
    torch.manual_seed(0)
    values, residual = torch.randn(5, 7, 48).bfloat16(), torch.randn(5, 7, 64).bfloat16()
    linear, norm = nn.Linear(48, 64).bfloat16(), nn.LayerNorm(64).bfloat16()
    with torch.inference_mode():
        plain = linear(values).float()
        assert torch.allclose(PackedLinear(linear)(values).float(), plain, atol=0.02)
        gelu = nn.functional.gelu(plain)
        assert torch.allclose(PackedLinear(linear, gelu=True)(values).float(), gelu, atol=0.02)
        summed = nn.functional.layer_norm(plain + residual.float(), (64,))
        assert torch.allclose(PackedResidual(linear, norm)(values, residual).float(), summed, atol=0.04)


@needs_packing
def test_packing_changes_every_linear_layer_and_hardly_a_vector(
    tiny_student: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    student = Student.load(tiny_student, EXACT)
    packed = half_copy(student.model[0])
    assert sum(isinstance(module, PackedLinear) for module in packed.modules()) == 2 * 4 + 1  # q, k, v, up; the pooler
    assert sum(isinstance(module, PackedResidual) for module in packed.modules()) == 2 * 2
    assert not any(type(module) is nn.Linear for module in packed.modules())
    monkeypatch.setattr(models.half, "packing_works", lambda: False)
    plain = half_copy(student.model[0])
    assert sum(type(module) is nn.Linear for module in plain.modules()) == 2 * 6 + 1
    exact, ours, theirs = (read(student, first) for first in (student.model[0], packed, plain))
    assert (ours - exact).abs().max() <= 2 * (theirs - exact).abs().max()
    assert (theirs - exact).abs().max() < 0.05


def test_the_source_keeps_its_weights_and_layers(tiny_student: Path) -> None:
    student = Student.load(tiny_student, EXACT)
    before = student.state()
    half_copy(student.model[0])
    assert all(weight.dtype == torch.float32 and weight.requires_grad for weight in student.parameters())
    assert all(torch.equal(value, before[name]) for name, value in student.state().items())
    assert any(type(module) is nn.Linear for module in student.modules())


def test_the_head_stays_in_float32(tiny_teacher: Path) -> None:
    teacher = Teacher.load(tiny_teacher, EXACT)
    copy = half_copy(teacher.model[0])
    kinds = {name: weight.dtype for name, weight in copy.named_parameters()}
    assert kinds["model.classifier.weight"] == torch.float32
    assert kinds["model.bert.embeddings.word_embeddings.weight"] == torch.bfloat16


def test_a_copy_is_kept_until_a_weight_is_written_to() -> None:
    source = nn.Sequential(nn.Linear(4, 4))
    twin = HalfTwin(source)
    first = twin.get()
    assert twin.get() is first
    with torch.no_grad():
        source[0].bias.add_(1)
    second = twin.get()
    assert second is not first
    twin.forget()
    assert twin.get() is not second


def test_buffers_keep_their_type() -> None:
    """Rotary frequencies in bf16 misplace every token after the 256th."""
    source = nn.Sequential(nn.BatchNorm1d(3))
    copy = half_copy(source)
    assert copy[0].running_mean.dtype == torch.float32 and copy[0].weight.dtype == torch.bfloat16
