"""A bf16 copy that learns for a model leaves the model's gradients, weights and layers as training expects them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import sentences
from torch import nn
from training import PLAN, Killed, by_weights, flat, kill_after, make_lists, timeless

from models.learning import LearningTwin, learning_copy
from models.loop import train_student
from models.regime import dropout_of
from models.runtime import Runtime
from models.schedule import make_optimizer
from models.student import Student
from models.teacher import Teacher

EXACT, HALF = Runtime("cpu", "fp32", 1), Runtime("cpu", "bf16", 1)
TEXTS = sentences(8, seed=3)
PAIRS = list(zip(TEXTS[:4], TEXTS[4:], strict=True))


def gradients(model: Student | Teacher) -> dict[str, torch.Tensor]:
    return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


def student_gradients(path: Path, runtime: Runtime, times: int = 1) -> tuple[Student, dict[str, torch.Tensor]]:
    student = Student.load(path, runtime)
    student.train()
    with dropout_of(student.modules(), 0.0):
        for _ in range(times):
            vectors = student.embed(student.tokenize_passages(TEXTS))
            (vectors[:4] @ vectors[4:].T).logsumexp(1).sum().backward()
    return student, gradients(student)


def test_every_gradient_reaches_the_model_in_float32_and_points_the_same_way(tiny_student: Path) -> None:
    _, exact = student_gradients(tiny_student, EXACT)
    student, ours = student_gradients(tiny_student, HALF)
    assert set(ours) == set(exact) and len(ours) > 30
    assert {gradient.dtype for gradient in ours.values()} == {torch.float32}
    together = [torch.cat([gradient.flatten() for _, gradient in sorted(one.items())]) for one in (exact, ours)]
    assert torch.nn.functional.cosine_similarity(*together, dim=0) > 0.99
    assert 0.95 < together[1].norm() / together[0].norm() < 1.05
    assert {weight.dtype for weight in student.parameters()} == {torch.float32}


def test_gradients_of_two_backwards_add_up(tiny_student: Path) -> None:
    """Handed over by assignment, the second chunk's would replace the first's."""
    _, once = student_gradients(tiny_student, HALF)
    _, twice = student_gradients(tiny_student, HALF, times=2)
    assert all(torch.allclose(twice[name], 2 * once[name], rtol=1e-3, atol=1e-6) for name in once)


def test_a_teachers_head_learns_in_float32(tiny_teacher: Path) -> None:
    found = []
    for runtime in (EXACT, HALF):
        teacher = Teacher.load(tiny_teacher, runtime)
        teacher.train()
        with dropout_of(teacher.modules(), 0.0):
            teacher.forward(teacher.assemble(PAIRS)).square().sum().backward()
        found.append(torch.cat([gradient.flatten() for _, gradient in sorted(gradients(teacher).items())]))
    assert torch.nn.functional.cosine_similarity(*found, dim=0) > 0.99
    kinds = {name: weight.dtype for name, weight in learning_copy(teacher.model[0]).named_parameters()}
    assert kinds["model.classifier.weight"] == torch.float32
    assert kinds["model.bert.embeddings.word_embeddings.weight"] == torch.bfloat16


def test_the_copy_follows_the_weights_that_our_optimiser_changes(tiny_student: Path) -> None:
    """A fused optimiser counts no version of the weights it changes: the copy would learn from the first for ever."""
    student, _ = student_gradients(tiny_student, HALF)
    tokens = student.tokenize_passages(TEXTS)
    with dropout_of(student.modules(), 0.0):
        before = student.embed(tokens).detach()
        make_optimizer(student.named_parameters(), lr=0.01, weight_decay=0.0).step()
        student.train()  # as every step begins
        after = student.embed(tokens).detach()
    assert (before - after).abs().max() > 0.01
    student.eval()
    assert (student.encode_passages(TEXTS).vectors - after.numpy()).max() < 0.05


def test_what_is_frozen_or_dropped_follows_the_model(tiny_student: Path) -> None:
    student, _ = student_gradients(tiny_student, HALF)
    student.model.zero_grad()
    frozen = [weight for name, weight in student.named_parameters() if "word_embeddings" in name]
    frozen[0].requires_grad_(False)
    tokens = student.tokenize_passages(TEXTS)
    with dropout_of(student.modules(), 0.5):
        assert not torch.equal(student.embed(tokens), student.embed(tokens))
        student.embed(tokens).sum().backward()
    assert frozen[0].grad is None and len(gradients(student)) > 30
    student.eval()
    assert torch.equal(student.embed(tokens), student.embed(tokens))


def test_buffers_keep_their_type() -> None:
    """Rotary frequencies in bf16 misplace every token after the 256th."""
    source = nn.Sequential(nn.BatchNorm1d(3))
    twin = LearningTwin(source).get()
    assert twin[0].running_mean.dtype == torch.float32 and twin[0].weight.dtype == torch.bfloat16


@pytest.mark.parametrize("runtime", [EXACT, Runtime("cuda", "bf16", 1)])
def test_elsewhere_the_model_itself_learns(runtime: Runtime) -> None:
    assert not runtime.learns_by_copy


@pytest.mark.parametrize("killed", [2, 5])
def test_a_killed_run_in_bf16_ends_as_an_uninterrupted_one_to_the_bit(
    tiny_student: Path, tmp_path: Path, killed: int
) -> None:
    """Pitfall 28: a copy that was behind, or ahead of, its source when the state was saved would show here."""
    plan = replace(PLAN, save_seconds=0.0)

    def run(folder: str, **more: Any) -> tuple[Student, Any]:
        student = Student.load(tiny_student, Runtime("cpu", "bf16", 1))
        return student, train_student(student, make_lists(student), plan, by_weights, tmp_path / folder, **more)

    whole, expected = run("whole")
    with pytest.raises(Killed):
        run("parts", tick=kill_after(killed))
    resumed, trained = run("parts")
    assert timeless(trained) == timeless(expected) and torch.equal(flat(resumed), flat(whole))
