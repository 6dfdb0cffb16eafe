"""Whether the shorter vectors that a recipe wants trained are shorter than the student's own."""

from collections.abc import Sequence

from tasks.baseline.settings import StudentSettings


def refuse_long(dimensions: Sequence[int], model: StudentSettings) -> None:
    """Refuse dimensions that shorten nothing, from the model's files, before anything is computed with it.

    Args:
        dimensions: What `training.dimensions` says.
        model: The student to teach.

    Raises:
        ModelNotFound: There is no such model.
        ValueError: A dimension is not below the student's; the message has both.
    """
    if not dimensions:
        return
    from models.locate import locate
    from models.size import dimension_of

    width = dimension_of(locate(model.model, model.trust_remote_code))
    beyond = [dimension for dimension in dimensions if dimension >= width]
    if beyond:
        raise ValueError(
            f"training.dimensions has {', '.join(map(str, beyond))}, and the vectors of student.model {model.model!r} "
            f"are {width} numbers long: only dimensions below {width} shorten anything. After hours of training there "
            "would be nothing to measure by them"
        )
