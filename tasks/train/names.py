"""Whether the student has the parameters that a recipe freezes, and the layers that it wants adapted."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tasks.baseline.settings import StudentSettings


def refuse_misnamed(frozen: Mapping[str, Sequence[str]], model: StudentSettings) -> None:
    """Refuse names that no parameter of the student has, before anything is computed with it.

    Its files tell most of it; only where they don't is it loaded.

    Args:
        frozen: Parts of parameter names by the setting that says them, such as `training.frozen`.
        model: The student to teach.

    Raises:
        ModelNotFound: There is no such model.
        ModuleNotFoundError: Adapters are wanted, and `peft` is not there.
        ValueError: No parameter has such a name; the message has the setting and the name.
    """
    targets = model.lora.target_modules if model.lora.rank else []
    parts = [part for wanted in frozen.values() for part in wanted]
    if not parts and not targets:
        return
    from models.locate import locate
    from models.size import parameter_names

    path = locate(model.model, model.trust_remote_code)
    held = parameter_names(path)
    plain = not model.layers  # layers that are left over are counted anew
    if plain and not _missing(parts, held) and all(_ends(f".{end}.weight", held) for end in targets):
        return
    _try(path, frozen, model)


def _try(path: Path, frozen: Mapping[str, Sequence[str]], model: StudentSettings) -> None:
    """Look the names up in the loaded student, as training will."""
    from models.lora import Lora, adapted
    from models.runtime import Runtime
    from tasks.baseline.systems import load_base

    lora = Lora(model.lora.rank, model.lora.alpha, tuple(model.lora.target_modules)) if model.lora.rank else None
    student = load_base(model, path, Runtime("cpu", "fp32", 1))
    with adapted(student, lora, 0):  # adapters have names that may be frozen, too
        known = [name for name, _ in student.named_parameters()]
    for setting, wanted in frozen.items():
        if missing := _missing(wanted, known):
            raise ValueError(
                f"{setting} has {', '.join(map(repr, missing))}, and no parameter of student.model {model.model!r} has "
                f"that in its name (they are called as {known[0]}). Nothing would be frozen by it, and training, after "
                "all that comes before it, would stop there"
            )


def _missing(parts: Iterable[str], names: Iterable[str]) -> list[str]:
    """Parts that are in none of the names."""
    held = list(names)
    return [part for part in parts if not any(part in name for name in held)]


def _ends(end: str, names: Iterable[str]) -> bool:
    return any(name.endswith(end) for name in names)
