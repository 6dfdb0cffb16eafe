"""Where tensors are computed, how exactly, and on how many threads: settled once per process."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from models.team import ALONE, Team

Precision = Literal["fp32", "bf16"]


@dataclass(frozen=True)
class Runtime:
    """A device, an arithmetic and a number of threads, as `configure` settled them.

    Attributes:
        device: "cpu", "cuda" (with or without an index) or "mps".
        precision: Arithmetic of the transformer; pooling, heads, losses and weights stay in float32.
        threads: Threads of torch; FAISS is given the same number where an index is made.
        team: The processes that train together, and which of them this is.
    """

    device: str
    precision: Precision
    threads: int
    team: Team = ALONE

    @property
    def batch_tokens(self) -> int:
        """Padded tokens per inference batch that keep this device busy: a CPU core's share must stay in its cache."""
        return 2048 * self.threads if self.cpu else 65536

    @property
    def cpu(self) -> bool:
        """Whether the CPU computes."""
        return torch.device(self.device).type == "cpu"

    @property
    def width_multiple(self) -> int:
        """Widths of batches are rounded up to this: oneDNN compiles kernels for every new shape."""
        return 8 if self.cpu else 1

    @property
    def overlaps(self) -> bool:
        """Whether preparing batches beside the computation gains anything: not where both want the same cores."""
        return not self.cpu

    @property
    def learns_by_copy(self) -> bool:
        """Whether a bf16 copy learns for the model (see `models.learning`) instead of autocast."""
        return self.cpu and self.precision == "bf16"

    def learning(self) -> AbstractContextManager[object]:
        """What forwards with gradient run in; one for all chunks of a step, so that each weight is cast once."""
        return nullcontext() if self.learns_by_copy else self.autocast()

    def autocast(self) -> AbstractContextManager[object]:
        """Compute matrix products in the runtime's precision while weights and gradients stay float32."""
        if self.precision == "fp32":
            return nullcontext()
        return torch.autocast(torch.device(self.device).type, dtype=torch.bfloat16)


def configure(device: str = "auto", precision: str = "auto", threads: int = 0, team: Team = ALONE) -> Runtime:
    """Settle device, precision and threads for this process; the one place that sets thread counts.

    Torch is imported before FAISS everywhere, because two OpenMP runtimes in the other order
    crash or fall to one thread. Tokenizers get the same number of threads if nothing used them yet.

    Args:
        device: "auto" takes a GPU where torch sees one; else a torch device name.
        precision: "auto" takes bf16 where CPU or GPU computes it natively; else "fp32" or "bf16".
        threads: 0 takes every core that this process may use; the processes of a team share them.
        team: The processes that train together; each takes a GPU of its own.

    Raises:
        ValueError: The device is not there, or a name is unknown.
    """
    chosen = settled_device(device)
    if precision not in ("auto", "fp32", "bf16"):
        raise ValueError(f"precision {precision!r} is unknown; it is auto, fp32 or bf16")
    if threads < 0:
        raise ValueError(f"threads must be 0 (every core) or more, got {threads}")
    if team.size > 1 and torch.device(chosen).type == "cuda":
        chosen = f"cuda:{team.rank}"
    count = max(1, (threads or available_cores()) // team.size)
    os.environ.setdefault("RAYON_NUM_THREADS", str(count))
    torch.set_num_threads(count)
    if "faiss" in sys.modules:
        sys.modules["faiss"].omp_set_num_threads(count)
    bf16 = precision == "bf16" or (precision == "auto" and native_bf16(chosen))
    return Runtime(chosen, "bf16" if bf16 else "fp32", count, team)


def available_cores() -> int:
    """Count the cores that this process may run on (its affinity, where the system has one)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def native_bf16(device: str) -> bool:
    """Say whether the hardware multiplies bf16 natively; elsewhere it is emulated and slower than fp32."""
    kind = torch.device(device).type
    if kind == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if kind != "cpu":
        return False
    probe = getattr(torch.cpu, "_is_amx_tile_supported", None)
    if probe is not None and probe():
        return True
    return bool({"amx_bf16", "avx512_bf16"} & cpu_flags())


def cpu_flags(path: Path = Path("/proc/cpuinfo")) -> set[str]:
    """Read the CPU's feature flags; empty where the system has no such file."""
    if not path.is_file():
        return set()
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    found = next((line for line in lines if line.startswith("flags")), "")
    return set(found.partition(":")[2].split())


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers' loading and saving bars out of the terminal, where the steps' own bars are."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


def settled_device(name: str) -> str:
    """Find the device that a name stands for, or refuse the name."""
    if name == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        kind = torch.device(name).type
    except RuntimeError as error:
        raise ValueError(f"device {name!r} is unknown; it is auto, cpu, cuda, cuda:N or mps") from error
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(kind, False):
        raise ValueError(f"device {name!r} was asked for, but torch sees no {kind} here; use cpu or auto")
    return name
