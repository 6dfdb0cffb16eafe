"""Whether a student's similarities can reach what the teacher's logits ask for."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from models.objectives import READS_TEACHER, Term

Floats = NDArray[np.float32]
APART = (
    4.0  # a dot product's range, unlike a cosine's, can be learned; over this many times the other's it is warned of
)
LOST = (
    100.0  # beside 1, float32 does not know exp(-100): a softmax over wider scores teaches with its first passage only
)


class Span(NamedTuple):
    """Where scores lie, one in a hundred at either end left out."""

    low: float
    high: float

    @classmethod
    def of(cls, scores: Floats) -> Self:
        """Of at least one score."""
        return cls(*(float(value) for value in np.quantile(scores, [0.01, 0.99])))

    @property
    def width(self) -> float:
        """The largest difference."""
        return self.high - self.low

    def over(self, tau: float) -> str:
        """Say both ends and the width, divided by a temperature."""
        return f"{self.low / tau:.3g} to {self.high / tau:.3g} (differences up to {self.width / tau:.3g})"


COSINES = Span(-1.0, 1.0)


def scale_warnings(terms: Sequence[Term], logits: Floats, dots: Floats | None) -> list[str]:
    """Compare both ranges before training; a mismatch trains without an error, and worse.

    Args:
        terms: The mix.
        logits: The teacher's logits of the lists; NaN where there is none.
        dots: Dot products of some lists, by the student as it is before training; None where it compares by cosine,
            whose range is known.

    Returns:
        A sentence for each mismatch, with both ranges; empty where there is none.
    """
    held = logits[np.isfinite(logits)]
    warnings = []
    reading = [term for term in terms if term.name in READS_TEACHER] if len(held) else []
    if reading and held.min() >= 0 and held.max() <= 1:
        warnings.append(
            f"the teacher's scores lie between {held.min():.3g} and {held.max():.3g}, as probabilities do, not logits; "
            "their differences are too small to learn an order from"
        )
    measured = None if dots is None else Span.of(dots)
    for term in reading:
        warnings += _against_teacher(term, Span.of(held), measured)
    for term in terms:
        if measured is not None and term.name == "contrastive":
            warnings += _against_softmax(term, measured)
    return warnings


def _against_teacher(term: Term, logits: Span, dots: Span | None) -> list[str]:
    """Compare the student's range, divided by tau, with the teacher's."""
    teacher_tau = term.teacher_tau if term.name == "kl" else 1.0
    asked, ours = logits.width / teacher_tau, dots or COSINES
    reach = ours.width / term.tau
    if dots is None:
        unlike, student = asked > reach, f"a cosine divided by tau {term.tau:g} spans"
    else:
        unlike = not asked / APART <= reach <= asked * APART
        student = f"the student's dot products, before training, divided by tau {term.tau:g} span"
    if not unlike:
        return []
    where = f"the teacher's logits{f' divided by {teacher_tau:g}' if teacher_tau != 1 else ''}"
    way = f"a {'smaller' if asked > reach else 'larger'} tau{_about(ours.width, asked)}"
    return [
        f"{term.name}: {where} span {logits.over(teacher_tau)}, but {student} {ours.over(term.tau)}; {way} brings them "
        "together"
    ]


def _against_softmax(term: Term, dots: Span) -> list[str]:
    """Say where a temperature that was made for cosines leaves a softmax of dot products nothing to choose from."""
    if dots.width / term.tau <= LOST:
        return []
    return [
        f"contrastive: the student's dot products, before training, divided by tau {term.tau:g} span "
        f"{dots.over(term.tau)}, where a cosine's would span {COSINES.over(term.tau)}; beyond {LOST:g}, only the first "
        f"passage of a softmax has any weight in float32. A larger tau{_about(dots.width, COSINES.width / 0.05)} "
        "is as a cosine's 0.05"
    ]


def _about(width: float, wanted: float) -> str:
    """The temperature that gives scores another width."""
    return f" (about {width / wanted:.2g})" if width > 0 and wanted > 0 else ""
