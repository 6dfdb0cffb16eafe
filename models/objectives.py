"""What a student learns from: pure functions of scores, and weighted mixes of them.

Every objective takes `(student, teacher, positives, mask)`, all (B, N): the student's similarities, the teacher's
logits, True where a candidate is a positive, True where a candidate is real. Temperatures divide, always. Several
positives of a query count as several rows, each with the other positives left out; `kl` alone reads a list as one. A
masked candidate contributes exactly nothing: it is filled with a finite minimum and zeroed afterwards, since 0 * -inf
is NaN.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor
from torch.nn import functional

FLOOR = torch.finfo(torch.float32).min

Name = Literal["triplet", "contrastive", "margin_mse", "kl"]
READS_TEACHER: frozenset[Name] = frozenset({"margin_mse", "kl"})


class Scored(NamedTuple):
    """The scores of one batch of lists; the four arguments of every objective, in their order."""

    student: Tensor  # similarities, (B, N)
    teacher: Tensor  # logits, (B, N); NaN where no score is stored, which contrastive terms don't read
    positives: Tensor  # bool, (B, N)
    mask: Tensor  # bool, (B, N)


@dataclass(frozen=True)
class Term:
    """One objective of a mix.

    Attributes:
        name: The objective.
        weight: What its loss is multiplied with.
        tau: Divides the student's similarities (all but triplet).
        teacher_tau: Divides the teacher's logits (kl).
        margin: How much nearer a positive has to be (triplet).
        symmetric: Passages choose among queries too (contrastive, in-batch).
        rescale: Multiply by tau squared, so that gradients keep their size when tau changes (kl).
    """

    name: Name
    weight: float = 1.0
    tau: float = 0.05
    teacher_tau: float = 1.0
    margin: float = 0.2
    symmetric: bool = False
    rescale: bool = False

    def __post_init__(self) -> None:
        if self.name not in get_args(Name):
            raise ValueError(f"objective {self.name!r} is unknown; there are {', '.join(get_args(Name))}")
        for field in ("weight", "tau", "teacher_tau"):
            value = getattr(self, field)
            if not 0 < value < float("inf"):
                raise ValueError(f"{self.name}: {field} is {value}; it has to be a number above 0")


def triplet(student: Tensor, teacher: Tensor, positives: Tensor, mask: Tensor, margin: float = 0.2) -> Tensor:
    """Keep every positive nearer than every negative by a margin: mean(max(0, m - s_pos + s_neg)).

    A baseline to beat: with random negatives its loss nears zero while recall stays at chance.

    Args:
        student: Similarities, (B, N).
        teacher: Not read.
        positives: True for positives, (B, N); every row has one.
        mask: True where a candidate is real, (B, N).
        margin: In units of similarity.
    """
    rows, columns, others = _rows_of_positives(positives, mask)
    student = student.float().masked_fill(~mask, 0.0)
    hinge = functional.relu(margin - student[rows, columns].unsqueeze(1) + student[rows])  # (K, N)
    return _mean(hinge, others)


def contrastive(
    student: Tensor, teacher: Tensor, positives: Tensor, mask: Tensor, tau: float = 0.05, symmetric: bool = False
) -> Tensor:
    """Choose the positive among the negatives: InfoNCE (arXiv 1807.03748), over own and in-batch passages alike.

    Args:
        student: Similarities, (B, M): own candidates alone, or every passage of the batch.
        teacher: Not read.
        positives: True for positives, (B, M); every row has one.
        mask: True for positives and for what may count as a negative, (B, M).
        tau: Divides the similarities.
        symmetric: Take the mean with the other direction, where a passage chooses among the queries; the columns
            then have to be passages of the batch, the same for every row.
    """
    scores = student.float() / tau
    forward = _choose(scores, positives, mask)
    return (forward + _choose(scores.T, positives.T, mask.T, every=False)) / 2 if symmetric else forward


def margin_mse(student: Tensor, teacher: Tensor, positives: Tensor, mask: Tensor, tau: float = 1.0) -> Tensor:
    """Match the teacher's positive-minus-other margins (Hofstätter et al. 2020, arXiv 2010.02666).

    Args:
        student: Similarities, (B, N), N >= 2.
        teacher: Logits of the same pairs, (B, N); receives no gradient.
        positives: True for positives, (B, N); every row has one.
        mask: True where a candidate is real, (B, N); at least one a row beside the positives.
        tau: Divides the similarities; 1 for a raw dot product, about 0.05 for a cosine.

    Raises:
        ValueError: A list of positives alone has no margin; a real candidate without a score has none either.
    """
    _refuse_short(mask, "margin_mse", "a margin", positives)
    scores, targets = student.float().masked_fill(~mask, 0.0) / tau, _known(teacher, mask, "margin_mse")
    rows, columns, others = _rows_of_positives(positives, mask)
    margins = scores[rows, columns].unsqueeze(1) - scores[rows]  # (K, N)
    wanted = targets[rows, columns].unsqueeze(1) - targets[rows]
    return _mean((margins - wanted).square(), others)


def kl(
    student: Tensor,
    teacher: Tensor,
    positives: Tensor,
    mask: Tensor,
    tau: float = 0.05,
    teacher_tau: float = 1.0,
) -> Tensor:
    """Match the teacher's distribution over each list: KL(softmax(T / teacher_tau) || softmax(S / tau)).

    The mean is over lists (`batchmean`), in float32 (ColBERTv2, arXiv 2112.01488; SimLM, arXiv 2207.02578).

    Args:
        student: Similarities, (B, N), N >= 2.
        teacher: Logits of the same pairs, (B, N); receives no gradient.
        positives: Not read: the teacher says what is relevant, and how much.
        mask: True where a candidate is real, (B, N); at least two a row.
        tau: Divides the similarities.
        teacher_tau: Divides the logits.

    Raises:
        ValueError: A list with one candidate has no distribution; a real candidate without a score has none either.
    """
    _refuse_short(mask, "kl", "a distribution")
    targets = _known(teacher, mask, "kl") / teacher_tau
    wanted = targets.masked_fill(~mask, FLOOR).log_softmax(dim=1)
    given = (student.float() / tau).masked_fill(~mask, FLOOR).log_softmax(dim=1)
    parts = functional.kl_div(given, wanted, reduction="none", log_target=True)  # (B, N)
    return parts.masked_fill(~mask, 0.0).sum() / len(parts)


def mixed(terms: Sequence[Term], own: Scored, contrast: Scored) -> Tensor:
    """Sum weighted objectives over the same embeddings.

    Args:
        terms: At least one.
        own: The lists, every scored candidate real: what `margin_mse` and `kl` read, (B, N).
        contrast: What `contrastive` and `triplet` read, (B, M): approved candidates masked, and the batch's other
            passages added where they serve as negatives.
    """
    if not terms:
        raise ValueError("a mix needs at least one objective; without one there is nothing to learn")
    losses = [term.weight * _APPLY[term.name](term, own, contrast) for term in terms]
    return torch.stack(losses).sum()


_APPLY: dict[Name, Callable[[Term, Scored, Scored], Tensor]] = {
    "triplet": lambda term, own, contrast: triplet(*contrast, margin=term.margin),
    "contrastive": lambda term, own, contrast: contrastive(*contrast, tau=term.tau, symmetric=term.symmetric),
    "margin_mse": lambda term, own, contrast: margin_mse(*own, tau=term.tau),
    "kl": lambda term, own, contrast: (
        kl(*own, tau=term.tau, teacher_tau=term.teacher_tau) * (term.tau**2 if term.rescale else 1.0)
    ),
}


def _choose(scores: Tensor, positives: Tensor, mask: Tensor, every: bool = True) -> Tensor:
    """Cross-entropy of each positive against its row's negatives, mean over positives; scores (B, M)."""
    rows, columns, others = _rows_of_positives(positives, mask, every)
    rest = scores[rows].masked_fill(~others, FLOOR).logsumexp(dim=1)  # (K,)
    # -log(e^p / (e^p + e^rest)); a row without negatives gives exactly zero
    return functional.softplus(rest - scores[rows, columns]).mean()


def _rows_of_positives(positives: Tensor, mask: Tensor, every: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """One row per positive: its row (K,), its column (K,), and which others it is compared with, (K, N)."""
    held = positives & mask
    if every and not bool(held.any(dim=1).all()):
        row = int((~held.any(dim=1)).nonzero()[0, 0])
        raise ValueError(f"list {row} of the batch has no positive; there is nothing to pull its query towards")
    rows, columns = held.nonzero(as_tuple=True)
    return rows, columns, mask[rows] & ~positives[rows]


def _mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the real entries; zero, with a gradient of zero, where there are none."""
    return values.masked_fill(~mask, 0.0).sum() / mask.sum().clamp(min=1)


def _refuse_short(mask: Tensor, name: str, what: str, positives: Tensor | None = None) -> None:
    """Refuse lists without a second candidate, or, given the positives, without one that is none."""
    counts = mask.sum(dim=1) if positives is None else (mask & ~positives).sum(dim=1) + 1
    if bool((counts < 2).any()):
        row = int((counts < 2).nonzero()[0, 0])
        alone = "" if positives is None else " that are all positives"
        raise ValueError(
            f"{name}: list {row} of the batch has {int(mask[row].sum())} candidate(s){alone}; {what} needs at least "
            "two, and with fewer the loss would be zero without saying so"
        )


def _known(teacher: Tensor, mask: Tensor, name: str) -> Tensor:
    """The teacher's logits in float32, without gradient, zero where masked; missing ones are refused."""
    teacher = teacher.detach().float()
    missing = mask & ~torch.isfinite(teacher)
    if bool(missing.any()):
        row, column = missing.nonzero()[0].tolist()
        raise ValueError(
            f"{name}: candidate {column} of list {row} has the teacher score {float(teacher[row, column])}; "
            "a missing score has no stand-in, because any number would be learned"
        )
    return teacher.masked_fill(~mask, 0.0)
