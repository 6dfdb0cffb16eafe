"""Objectives against sentence-transformers' losses: the same loss and the same gradients."""

import math

import pytest
import torch
from torch import Tensor

from models.objectives import Scored, Term, contrastive, margin_mse, mixed, triplet


def vectors(seed: int, size: int, count: int) -> list[Tensor]:
    """Unit vectors: one batch of queries, and one of each column of passages."""
    drawing = torch.Generator().manual_seed(seed)
    made = [torch.randn(size, 8, generator=drawing) for _ in range(count)]
    return [torch.nn.functional.normalize(part, dim=1).requires_grad_() for part in made]


def own_lists(parts: list[Tensor], teacher: Tensor) -> Scored:
    student = torch.stack([(parts[0] * part).sum(1) for part in parts[1:]], dim=1)
    positives = torch.zeros_like(student, dtype=torch.bool)
    positives[:, 0] = True
    return Scored(student, teacher, positives, torch.ones_like(positives))


def compare(ours: Tensor, theirs: Tensor, parts: list[Tensor]) -> None:
    """The same loss and the same gradient for every embedding."""
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5)
    for mine, other in zip(torch.autograd.grad(ours, parts), torch.autograd.grad(theirs, parts), strict=True):
        assert float(other.abs().max()) > 1e-4
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("negatives", [1, 3])
def test_margin_mse_is_sentence_transformers_margin_mse(negatives: int) -> None:
    from sentence_transformers.sentence_transformer.losses import MarginMSELoss

    parts, teacher = vectors(0, 6, 2 + negatives), torch.randn(6, 1 + negatives) * 3
    theirs = MarginMSELoss(torch.nn.Identity()).compute_loss_from_embeddings(parts, teacher)
    compare(margin_mse(*own_lists(parts, teacher)), theirs, parts)


def test_kl_is_sentence_transformers_distill_kl_div() -> None:
    from sentence_transformers.sentence_transformer.losses import DistillKLDivLoss

    parts, teacher = vectors(1, 6, 5), torch.randn(6, 4) * 3
    loss = DistillKLDivLoss(torch.nn.Identity(), student_temperature=0.3, teacher_temperature=1.7)
    theirs = loss.compute_loss_from_embeddings(parts, teacher)
    own = own_lists(parts, teacher)
    compare(mixed([Term("kl", tau=0.3, teacher_tau=1.7, rescale=True)], own, own), theirs, parts)


def test_triplet_is_sentence_transformers_triplet_loss() -> None:
    from sentence_transformers.sentence_transformer.losses import TripletLoss

    parts = vectors(3, 6, 3)
    # with an inner product, distance is its negative
    loss = TripletLoss(torch.nn.Identity(), distance_metric=lambda x, y: -(x * y).sum(1), triplet_margin=0.4)
    theirs = loss.compute_loss_from_embeddings(parts, torch.empty(0))
    compare(triplet(*own_lists(parts, torch.zeros(6, 2)), margin=0.4), theirs, parts)


@pytest.mark.parametrize("symmetric", [False, True])
def test_contrastive_is_sentence_transformers_multiple_negatives_ranking(symmetric: bool) -> None:
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from sentence_transformers.util import dot_score

    count = 2 if symmetric else 4
    parts = vectors(2, 6, count)
    loss = MultipleNegativesRankingLoss(
        torch.nn.Identity(),
        scale=1 / 0.15,
        similarity_fct=dot_score,
        directions=("query_to_doc", "doc_to_query") if symmetric else ("query_to_doc",),
        partition_mode="per_direction" if symmetric else "joint",
    )
    theirs = loss.compute_loss_from_embeddings(parts, torch.empty(0))
    scores = parts[0] @ torch.cat(parts[1:]).T
    positives = torch.eye(6, 6 * (count - 1)).bool()
    scored = Scored(scores, torch.full_like(scores, math.nan), positives, torch.ones_like(positives))
    compare(contrastive(*scored, tau=0.15, symmetric=symmetric), theirs, parts)
