"""Cheap dropout: what torch's own does, by other draws."""

from pathlib import Path

import pytest
import torch
from tiny import sentences
from torch.nn import functional

from models.dropout import QuickDropout
from models.runtime import Runtime
from models.student import Student


def dropped(values: torch.Tensor, p: float, seed: int = 0, **more: bool) -> torch.Tensor:
    torch.manual_seed(seed)
    with QuickDropout():
        return functional.dropout(values, p, **more)


@pytest.mark.parametrize("p", [0.1, 0.37, 0.9])
@pytest.mark.parametrize("shape", [(1000, 501), (7,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_share_is_dropped_and_the_others_are_scaled_so_that_the_mean_stays(
    p: float, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    made = dropped(torch.ones(shape, dtype=dtype), p)
    assert made.dtype == dtype and made.shape == shape
    rest = made[made != 0].float()
    torch.testing.assert_close(rest, torch.full_like(rest, 1 / (1 - p)), rtol=5e-3, atol=0)
    if made.numel() > 100_000:
        zeros = (made == 0).float()
        assert float(zeros.mean()) == pytest.approx(p, abs=0.003)
        assert float(zeros.mean(dim=0).std()) == pytest.approx((p * (1 - p) / 1000) ** 0.5, rel=0.15)
        assert abs(float(torch.corrcoef(torch.stack([zeros[:, :-1].flatten(), zeros[:, 1:].flatten()]))[0, 1])) < 0.01


def test_draws_follow_from_torchs_seed_and_move_its_state() -> None:
    """Pitfall 28: a resumed run draws what the uninterrupted one drew."""
    values = torch.randn(50, 50)
    assert torch.equal(dropped(values, 0.5), dropped(values, 0.5))
    assert not torch.equal(dropped(values, 0.5), dropped(values, 0.5, seed=1))
    with QuickDropout():
        assert not torch.equal(functional.dropout(values, 0.5), functional.dropout(values, 0.5))


@pytest.mark.parametrize(("p", "training"), [(0.0, True), (0.5, False), (1.0, True)])
def test_nothing_is_drawn_where_nothing_is_dropped_or_kept(p: float, training: bool) -> None:
    values = torch.randn(5, 5)
    assert torch.equal(dropped(values, p, training=training), functional.dropout(values, p, training))


def test_the_gradient_goes_where_the_values_went() -> None:
    values = torch.ones(100, 10, requires_grad=True)
    made = dropped(values, 0.3)
    made.sum().backward()
    assert values.grad is not None and torch.equal(values.grad, made.detach())


def test_every_dropout_of_a_learning_student_is_drawn_so(tiny_student: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    student = Student.load(tiny_student, Runtime("cpu", "fp32", 1))
    tokens = student.tokenize_passages(sentences(4, seed=1))
    student.train()
    calls: list[torch.Size] = []
    from models import dropout

    draw = dropout._draw
    monkeypatch.setattr(dropout, "_draw", lambda shape: calls.append(shape) or draw(shape))
    student.embed(tokens)
    assert len(calls) == 1 + 3 * 2  # embeddings; attention, its output and the feed-forward of two layers
