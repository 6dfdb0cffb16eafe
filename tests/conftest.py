"""What every test shares: few threads, no network, and tiny models built once."""

import os
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
from command import HOSTILE, Remine
from tiny import make_student, make_teacher

from flows.connection import PATIENT
from warehouse.connect import Warehouse
from warehouse.load import finish_run, start_run

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_student(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SentenceTransformer folder: two-layer BERT, mean pooling, Normalize, query and passage prompts."""
    path = tmp_path_factory.mktemp("models") / "student"
    return make_student(path, seed=1, prompts={"query": "query ", "document": "passage "})


@pytest.fixture(scope="session")
def tiny_teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CrossEncoder folder: two-layer BERT with a one-label head."""
    return make_teacher(tmp_path_factory.mktemp("models") / "teacher", seed=2)


@pytest.fixture(scope="module")
def prefect() -> Iterator[None]:
    """A Prefect server and database of the module's own."""
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield


@pytest.fixture
def remine(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Remine:
    for name in [name for name in os.environ if name.startswith(("PREFECT_", "REMINE_"))]:
        monkeypatch.delenv(name)
    ours = ("PREFECT_LOGGING_EXTRA_LOGGERS", "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW", *PATIENT)
    for name in ours:
        monkeypatch.setenv(name, "")  # `remine run` sets them for its process
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")
    return Remine(monkeypatch, capfd)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a warehouse of two runs."""
    warehouse = Warehouse(tmp_path / "warehouse.duckdb", lock_seconds=20)
    first = start_run(warehouse, "distill", "nightly", "{}", {})
    finish_run(warehouse, first, "completed", None)
    second = start_run(warehouse, "distill", "nightly", "{}", {})
    finish_run(warehouse, second, "failed", HOSTILE)
    return tmp_path
