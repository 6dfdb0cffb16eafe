"""Which modules queries and passages go through: the same ones, or those of a Router with a tower for each."""

from pathlib import Path
from typing import Any, Literal

from models.runtime import Runtime
from models.tower import Tower

Side = Literal["query", "passage"]
ROUTES: dict[Side, str] = {"query": "query", "passage": "document"}  # of a Router


def towers_of(model: Any, runtime: Runtime) -> dict[Side, Tower]:
    """Find who reads queries and who reads passages: one tower for both, or those of the model's Router."""
    first, *rest = list(model)
    if type(first).__name__ != "Router":
        return dict.fromkeys(ROUTES, Tower([first, *rest], runtime))
    return {side: Tower([*first.sub_modules[route], *rest], runtime) for side, route in ROUTES.items()}


def with_normalize(model: Any) -> Any:
    """Make vectors unit length inside the model where its similarity is cosine, so that what is saved says so."""
    from sentence_transformers.base.modules import Normalize

    if model.similarity_fn_name == "cosine" and type(model[-1]).__name__ != "Normalize":
        model.append(Normalize().to(model.device))
    return model


def refuse_unfit(path: Path, model: Any) -> None:
    """Refuse models whose vectors would not be what mining and export take them for."""
    if model.similarity_fn_name not in ("cosine", "dot"):
        raise ValueError(
            f"{path}: the model compares vectors by {model.similarity_fn_name}; a student needs cosine or dot, "
            "because mining searches by inner product"
        )
    if model.truncate_dim is not None:
        raise ValueError(
            f"{path}: the model cuts vectors to {model.truncate_dim} numbers; save it without truncate_dim"
        )
    routes = _routes(path, model)
    for name, modules in routes.items():
        if type(modules[0]).__name__ != "Transformer":
            raise ValueError(
                f"{path}: {name} begins with {type(modules[0]).__name__}; a student begins with a Transformer"
            )
    lengths = {name: _dimension(modules) for name, modules in routes.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} gives vectors of {length} numbers" for name, length in lengths.items())
        raise ValueError(f"{path}: {told}; queries and passages could not be compared")
    if any(getattr(module, "include_prompt", True) is False for module in model.modules()):
        raise ValueError(
            f"{path}: the model's pooling leaves the prompt out, which token lists cannot say; not supported"
        )


def _routes(path: Path, model: Any) -> dict[str, list[Any]]:
    """Modules that a text goes through, by who reads it."""
    if type(model[0]).__name__ != "Router":
        return {"the model": list(model)}
    routes = model[0].sub_modules
    if model[0].route_mappings or not set(ROUTES.values()) <= set(routes):
        raise ValueError(
            f"{path}: the model's Router has the routes {sorted(routes)} and {len(model[0].route_mappings)} mappings; "
            "a student with two towers has the routes query and document, and no mappings"
        )
    return {f"the route {name}": list(routes[name]) for name in ROUTES.values()}


def _dimension(modules: list[Any]) -> int | None:
    """Numbers per vector, as the last module that knows it says."""
    known = (getattr(module, "get_embedding_dimension", None) for module in reversed(modules))
    told = (ask() for ask in known if callable(ask))
    return next((int(number) for number in told if number), None)
