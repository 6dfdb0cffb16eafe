"""Choose between the student there is and the new one, with how sure that is."""

from typing import TYPE_CHECKING, Any

from tasks.promote.settings import Promotion

if TYPE_CHECKING:
    from tasks.promote.deciding import Decision
    from tasks.promote.task import promote

__all__ = ["Decision", "Promotion", "promote"]


def __getattr__(name: str) -> Any:
    """Import the task and what it returns when they are asked for: a recipe needs the settings alone."""
    if name == "promote":
        from tasks.promote import task

        return task.promote
    if name == "Decision":
        from tasks.promote import deciding

        return deciding.Decision
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
