"""Whether a student's similarities can reach what the teacher's logits ask for."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.objectives import READS_TEACHER, Term


def scale_warnings(terms: Sequence[Term], similarity: str, logits: NDArray[np.float32]) -> list[str]:
    """Compare both ranges before training; a mismatch trains without an error, and worse.

    Args:
        terms: The mix.
        similarity: "cosine" or "dot"; a dot product's range is not known beforehand.
        logits: The teacher's logits of the lists; NaN where there is none.

    Returns:
        A sentence for each mismatch, with both ranges; empty where there is none.
    """
    reading = [term for term in terms if term.name in READS_TEACHER]
    held = logits[np.isfinite(logits)]
    if not reading or not len(held):
        return []
    low, high = (float(value) for value in np.quantile(held, [0.01, 0.99]))
    warnings = []
    if held.min() >= 0 and held.max() <= 1:
        warnings.append(
            f"the teacher's scores lie between {held.min():.3g} and {held.max():.3g}, as probabilities do, not logits; "
            "their differences are too small to learn an order from"
        )
    for term in reading if similarity == "cosine" else []:
        asked = (high - low) / (term.teacher_tau if term.name == "kl" else 1.0)
        reach = 2 / term.tau
        if asked > reach:
            warnings.append(
                f"{term.name}: the teacher's logits span {low:.3g} to {high:.3g} (differences up to {asked:.3g}), but "
                f"a cosine divided by tau {term.tau:g} spans {-1 / term.tau:.3g} to {1 / term.tau:.3g} (up to "
                f"{reach:.3g}); a smaller tau brings them together"
            )
    return warnings
