"""Whether a teacher that is to be taught has the parameters that a recipe freezes."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tasks.baseline.settings import StudentSettings
from tasks.train.names import files_have, refuse_misfrozen


def refuse_misnamed_teacher(frozen: Sequence[str], student: StudentSettings, start: str = "warm") -> None:
    """Refuse names that no parameter of the teacher would have, before anything is computed that it is taught with.

    Its head and its names are not in the files of a bi-encoder: where they don't tell, it is made as teaching does.

    Args:
        frozen: What `teach.frozen` says.
        student: The student whose transformer it starts from.
        start: "warm", or the cross-encoder that learns on in its place.

    Raises:
        ModelNotFound: There is no such model.
        ValueError: No parameter has such a name, or every one has; the message has the name.
    """
    if not frozen:
        return
    from models.locate import locate

    path = locate(start) if start != "warm" else locate(student.model, student.trust_remote_code)
    if not student.layers and files_have(path, frozen):
        return
    from models.runtime import Runtime
    from models.teacher import Teacher
    from tasks.baseline.systems import load_base

    runtime = Runtime("cpu", "fp32", 1)
    if start != "warm":
        teacher, whose = Teacher.load(path, runtime), f"teach.start {start!r}"
    else:
        whose = f"a teacher made of {student.model!r}"
        with TemporaryDirectory() as folder:
            if student.layers:  # what is left over is counted anew
                load_base(student, path, runtime).save(Path(folder) / "model")
                path = Path(folder) / "model"
            teacher = Teacher.from_encoder(path, runtime, 0)
    refuse_misfrozen({"teach.frozen": frozen}, teacher.named_parameters(), whose)
