"""Other students out of one: fewer layers, weights from scratch, another similarity, or a tower for each side."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Literal

import torch
from torch import nn

from models.routes import with_normalize
from models.student import Student


def cut_layers(student: Student, layers: Sequence[int]) -> None:
    """Keep some of the transformer's layers, in their order.

    Args:
        student: Changed in place.
        layers: Numbers of the layers to keep, from 0, each larger than the one before.

    Raises:
        ValueError: The numbers are not rising or not there, or the transformer does not keep its layers in one list.
    """
    for tower in student.towers:
        _cut(tower.first.auto_model, layers)


def _cut(transformer: Any, layers: Sequence[int]) -> None:
    config = transformer.config
    count = int(config.num_hidden_layers)
    if list(layers) != sorted(set(layers)) or not layers or not 0 <= layers[0] <= layers[-1] < count:
        raise ValueError(
            f"student.layers {list(layers)} of a transformer with {count}: needed rising numbers from 0 to "
            f"{count - 1}, each at most once"
        )
    owner, name = _stack(transformer, count)
    kept = nn.ModuleList([getattr(owner, name)[number] for number in layers])
    setattr(owner, name, kept)
    for place, layer in enumerate(kept):
        numbered: list[Any] = [module for module in layer.modules() if hasattr(module, "layer_idx")]
        for module in numbered:
            module.layer_idx = place
    config.num_hidden_layers = len(kept)
    for key, value in config.to_dict().items():
        if key.endswith("layer_types") and isinstance(value, list):
            setattr(config, key, [value[number] for number in layers])


def start_anew(student: Student, seed: int) -> None:
    """Give every weight the random value that training of this architecture starts from.

    Args:
        student: Changed in place; tokenizer, pooling and similarity stay.
        seed: What is drawn follows from it alone.
    """
    for tower in student.towers:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # two towers start alike
            transformer = tower.first.auto_model
            transformer.load_state_dict(type(transformer)(transformer.config).state_dict())
            for part in tower.after:
                for module in part.modules():
                    if callable(reset := getattr(module, "reset_parameters", None)):
                        reset()


def compare_by(student: Student, similarity: Literal["cosine", "dot"]) -> Student:
    """Compare vectors by the cosine, or as they are by the dot product; whatever is saved or exported does so, too.

    Args:
        student: Its modules become those of the new one; for the dot product, those that make unit length are left out.
        similarity: How two vectors are compared.
    """
    first = student.model[0]
    routes = first.sub_modules if type(first).__name__ == "Router" else {}
    for route, modules in routes.items() if similarity == "dot" else []:
        routes[route] = nn.Sequential(*_unscaled(modules))
    kept = _unscaled(student.model) if similarity == "dot" else list(student.model)
    return _with_modules(student, kept, similarity)


def _unscaled(modules: Any) -> list[nn.Module]:
    """Modules but those that make vectors unit length."""
    return [module for module in modules if type(module).__name__ != "Normalize"]


def _with_modules(student: Student, modules: list[Any], similarity: str) -> Student:
    """A student of other modules, with the prompts of this one."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        modules=modules,
        device=student.runtime.device,
        prompts=student.model.prompts,
        similarity_fn_name=similarity,
    )
    made = Student(with_normalize(model), student.runtime)
    made.query_prompt, made.passage_prompt = student.query_prompt, student.passage_prompt
    made.eval()
    return made


def part_towers(student: Student) -> Student:
    """Give queries and passages a tower each, both starting as the student's; one that has two stays as it is.

    Args:
        student: Its modules become those of the passages' tower.
    """
    from sentence_transformers.base.modules import Router

    if len(student.towers) > 1:
        return student
    modules = list(student.model)
    inner = _unscaled(modules)
    outer = [module for module in modules if module not in inner]
    router = Router.for_query_document([deepcopy(module) for module in inner], inner)
    return _with_modules(student, [router, *outer], student.model.similarity_fn_name)


def _stack(transformer: Any, count: int) -> tuple[nn.Module, str]:
    """The list of layers: the module that holds it, and its name there."""
    found = [
        (module, name)
        for module in transformer.modules()
        for name, child in module.named_children()
        if isinstance(child, nn.ModuleList) and len(child) == count
    ]
    if len(found) != 1:
        raise ValueError(
            f"{type(transformer).__name__} has {len(found)} lists of {count} modules; with any but one it is not "
            "certain which are its layers, so it cannot be cut"
        )
    return found[0]
