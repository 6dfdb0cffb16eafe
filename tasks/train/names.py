"""Whether a model has the parameters that a recipe freezes, and the layers that it wants adapted."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.baseline.settings import StudentSettings

if TYPE_CHECKING:
    from torch import nn

Frozen = Mapping[str, Sequence[str]]  # parts of parameter names by the setting that says them


def refuse_misnamed(frozen: Frozen, model: StudentSettings) -> None:
    """Refuse names that no parameter of the student has, before anything is computed with it.

    Its files tell most of it; only where they don't is it loaded.

    Args:
        frozen: Parts of parameter names by the setting that says them, such as `training.frozen`.
        model: The student to teach.

    Raises:
        ModelNotFound: There is no such model.
        ModuleNotFoundError: Adapters are wanted, and `peft` is not there.
        ValueError: No parameter has such a name, or every one has; the message has the setting and the name.
    """
    targets = model.lora.target_modules if model.lora.rank else []
    parts = [part for wanted in frozen.values() for part in wanted]
    if not parts and not targets:
        return
    from models.locate import locate
    from models.size import parameter_names

    path = locate(model.model, model.trust_remote_code)
    held = parameter_names(path)
    learns = [name for name in held if any(name.endswith(f".{end}.weight") for end in targets)] or held
    plain = not model.layers and (bool(targets) or not model.lora.rank)  # layers that are left over are counted anew
    ends = all(any(name.endswith(f".{end}.weight") for name in held) for end in targets)
    if plain and ends and not _missing(parts, held) and all(_left(wanted, learns) for wanted in frozen.values()):
        return
    _try(path, frozen, model)


def files_have(path: Path, parts: Sequence[str]) -> bool:
    """Whether the files of a model say that each part is in some parameter's name, and that not all names have one."""
    from models.size import parameter_names

    held = parameter_names(path)
    return not _missing(parts, held) and _left(parts, held)


def refuse_misfrozen(frozen: Frozen, named: "Iterable[tuple[str, nn.Parameter]]", whose: str) -> None:
    """Refuse parts of names that none of these parameters has, and such that leave nothing to learn.

    Args:
        frozen: Parts of parameter names by the setting that says them.
        named: The parameters as training will see them.
        whose: What has them.

    Raises:
        ValueError: The message has the setting and the name.
    """
    weights = dict(named)
    learns = [name for name, weight in weights.items() if weight.requires_grad]
    for setting, wanted in frozen.items():
        if missing := _missing(wanted, weights):
            raise ValueError(
                f"{setting} has {', '.join(map(repr, missing))}, and no parameter of {whose} has that in its name "
                f"(they are called as {next(iter(weights))}). Nothing would be frozen by it, and training, after all "
                "that comes before it, would stop there"
            )
        if not _left(wanted, learns):
            raise ValueError(
                f"{setting} has {', '.join(map(repr, wanted))}, which is in the name of all {len(learns)} parameters "
                f"of {whose} that learn; nothing would be left to train"
            )


def _try(path: Path, frozen: Frozen, model: StudentSettings) -> None:
    """Look the names up in the loaded student, as training will."""
    from models.lora import Lora, adapted
    from models.runtime import Runtime
    from tasks.baseline.systems import load_base

    lora = Lora(model.lora.rank, model.lora.alpha, tuple(model.lora.target_modules)) if model.lora.rank else None
    student = load_base(model, path, Runtime("cpu", "fp32", 1))
    with adapted(student, lora, 0):  # adapters have names that may be frozen, too
        refuse_misfrozen(frozen, student.named_parameters(), f"student.model {model.model!r}")


def _missing(parts: Iterable[str], names: Iterable[str]) -> list[str]:
    """Parts that are in none of the names."""
    held = list(names)
    return [part for part in parts if not any(part in name for name in held)]


def _left(parts: Sequence[str], names: Iterable[str]) -> bool:
    """Whether a name has none of the parts."""
    return any(not any(part in name for part in parts) for name in names)
