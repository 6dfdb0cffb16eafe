"""Device, precision and threads."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from models.runtime import Runtime, available_cores, configure, cpu_flags, native_bf16

ROOT = Path(__file__).parents[1]


SCRIPT = """
import json, os, sys, torch
torch.set_num_threads(3)
import models.runtime, models.student, models.teacher, models.locate, models.fingerprint
heavy = {"transformers", "sentence_transformers", "faiss", "huggingface_hub"} & set(sys.modules)
told = {"imported": [torch.get_num_threads(), sorted(heavy)]}
os.environ.pop("RAYON_NUM_THREADS", None)
told["asked"] = [models.runtime.configure("cpu", "fp32", 2).threads, torch.get_num_threads()]
told["tokenizers"] = os.environ["RAYON_NUM_THREADS"]
os.environ["RAYON_NUM_THREADS"] = "5"
told["zero"] = [models.runtime.configure("cpu", "fp32", 0).threads, torch.get_num_threads()]
told["user's"] = os.environ["RAYON_NUM_THREADS"]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What a fresh interpreter says, because thread counts stay set in this one."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_torch_gets_the_threads_asked_for(told: dict[str, Any]) -> None:
    assert told["asked"] == [2, 2]


def test_faiss_gets_the_threads_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two OpenMP runtimes with different ideas of the machine run several times slower (pitfall 21)."""
    given: list[int] = []
    monkeypatch.setitem(sys.modules, "faiss", SimpleNamespace(omp_set_num_threads=given.append))
    threads = torch.get_num_threads()
    configure("cpu", "fp32", threads)
    assert given == [threads]


def test_tokenizers_get_the_threads_of_torch_unless_the_user_said_otherwise(told: dict[str, Any]) -> None:
    assert (told["tokenizers"], told["user's"]) == ("2", "5")


def test_importing_the_package_sets_no_threads_and_imports_no_heavy_library(told: dict[str, Any]) -> None:
    """Work at import cannot be undone by who imports (pitfall 46)."""
    assert told["imported"] == [3, []]


def test_zero_threads_take_every_core_of_this_process(told: dict[str, Any]) -> None:
    assert told["zero"] == [available_cores()] * 2


def test_auto_precision_follows_the_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = torch.get_num_threads()
    for native, expected in ((True, "bf16"), (False, "fp32")):
        monkeypatch.setattr("models.runtime.native_bf16", lambda device, native=native: native)
        assert configure("cpu", "auto", threads).precision == expected
        assert configure("cpu", "fp32", threads).precision == "fp32"
        assert configure("cpu", "bf16", threads).precision == "bf16"


def test_native_bf16_is_read_from_the_flags_where_torch_cannot_tell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("model name\t: X\nflags\t\t: fpu avx2 avx512_bf16\nflags\t\t: fpu\n")
    assert cpu_flags(info) == {"fpu", "avx2", "avx512_bf16"}
    assert cpu_flags(tmp_path / "none") == set()
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False, raising=False)
    for flags, expected in (({"avx512_bf16"}, True), ({"amx_bf16"}, True), ({"avx2"}, False)):
        monkeypatch.setattr("models.runtime.cpu_flags", lambda flags=flags: flags)
        assert native_bf16("cpu") is expected


def test_autocast_computes_products_in_bf16_only_where_the_runtime_says_so() -> None:
    layer = torch.nn.Linear(4, 4)
    for precision, expected in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        with Runtime("cpu", precision, 1).autocast():
            assert layer(torch.ones(2, 4)).dtype == expected


@pytest.mark.parametrize(
    ("device", "precision", "threads", "message"),
    [
        ("gpu", "auto", 1, "'gpu' is unknown"),
        ("cuda:99", "auto", 1, "torch sees no cuda"),
        ("cpu", "fp16", 1, "'fp16' is unknown"),
        ("cpu", "auto", -1, "got -1"),
    ],
)
def test_what_is_not_there_is_refused(
    device: str, precision: str, threads: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=message):
        configure(device, precision, threads)
