"""LoRA (Hu et al. 2021, arXiv 2106.09685) by `peft`: small matrices learn beside frozen ones and are added to them.

Nothing of it leaves a training: inference reads merged weights, and a saved student is a plain folder.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn

from models.half import merge_adapters
from models.student import Student


@dataclass(frozen=True)
class Lora:
    """What learns beside the transformer's frozen weights.

    Attributes:
        rank: Columns of the first and rows of the second small matrix.
        alpha: Their product is multiplied by alpha / rank.
        targets: Ends of the names of linear layers that get one; none: every linear layer of the transformer.
    """

    rank: int
    alpha: float = 16.0
    targets: tuple[str, ...] = ()


def refuse_without_peft() -> None:
    """Say how to get what LoRA needs.

    Raises:
        ModuleNotFoundError: It is not there.
    """
    if find_spec("peft") is None:
        raise ModuleNotFoundError(
            "student.lora trains through the library peft, which is not installed: pip install --constraint "
            "constraints.txt --editable '.[lora]', or leave student.lora out and every weight learns",
            name="peft",
        )


@contextmanager
def adapted(student: Student, lora: Lora | None, seed: int) -> Iterator[None]:
    """Let only adapters of a student's transformers learn, and merge them into its weights afterwards.

    Args:
        student: Changed in place; as it was, where training fails.
        lora: None leaves all as it is.
        seed: What the first matrices are drawn from; the second ones start at zero.

    Raises:
        ModuleNotFoundError: `peft` is not there.
        ValueError: A target is no linear layer of a transformer.
    """
    if lora is None:
        yield
        return
    refuse_without_peft()
    learned = [weight for weight in student.parameters() if weight.requires_grad]
    for weight in learned:
        weight.requires_grad_(False)
    done = False
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            for tower in student.towers:
                _inject(tower.first.auto_model, lora)
        student.model.to(student.runtime.device)
        _outdate(student)
        yield
        done = True
    finally:
        for tower in student.towers:
            merge_adapters(tower.first.auto_model, keep=done)
            if hasattr(tower.first.auto_model, "peft_config"):
                del tower.first.auto_model.peft_config
        for weight in learned:
            weight.requires_grad_(True)
        _outdate(student)


def _inject(transformer: Any, lora: Lora) -> None:
    """Put adapters into a transformer."""
    from peft import LoraConfig, inject_adapter_in_model

    linear = [name for name, module in transformer.named_modules() if isinstance(module, nn.Linear)]
    idle = [end for end in lora.targets if not any(name == end or name.endswith(f".{end}") for name in linear)]
    if idle or not linear:
        ends = sorted({name.rpartition(".")[2] for name in linear})
        raise ValueError(
            f"student.lora: no linear layer's name ends in {', '.join(idle) or 'anything'}; there are {', '.join(ends)}"
        )
    config = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, lora_dropout=0.0, target_modules=list(lora.targets) or linear
    )
    inject_adapter_in_model(config, transformer)


def _outdate(student: Student) -> None:
    """Drop the copies of modules that are no longer the ones there."""
    for tower in student.towers:
        tower.half.forget()
        tower.learner.forget()
