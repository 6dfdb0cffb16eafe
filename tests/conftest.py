"""What every test shares: few threads, no network, and tiny models built once."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
from command import HOSTILE, Remine
from copies import copied
from sources import write_words
from tiny import make_student, make_teacher
from tiny_loop import QUERIES, recipe, run

from flows.connection import PATIENT
from warehouse.connect import Warehouse
from warehouse.load import finish_run, start_run

torch.set_num_threads(1)
# The whole loops: one process runs them all on one Prefect server, and meanwhile the others run the rest.
LOOPS = {
    f"test_{name}.py" for name in ("distill", "distill_ready", "evaluate_models", "gate_run", "plan", "score_flow")
}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let `--dist loadfile` take the whole loops for one file."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return "loops" if Path(file).name in LOOPS else file

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def tiny_student(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SentenceTransformer folder: two-layer BERT, mean pooling, Normalize, query and passage prompts."""
    path = tmp_path_factory.mktemp("models") / "student"
    return make_student(path, seed=1, prompts={"query": "query ", "document": "passage "})


@pytest.fixture(scope="session")
def tiny_teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CrossEncoder folder: two-layer BERT with a one-label head."""
    return make_teacher(tmp_path_factory.mktemp("models") / "teacher", seed=2)


@pytest.fixture(scope="session")
def prefect() -> Iterator[str]:
    """A Prefect server with a database of its own, begun by the first test that wants one; its API's address."""
    from prefect.settings import get_current_settings
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield str(get_current_settings().api.url)


@pytest.fixture(scope="session")
def looped(tmp_path_factory: pytest.TempPathFactory, tiny_student: Path, prefect: str) -> Path:
    """A folder with `data` and the `home` that a run of the tiny recipe left; whoever goes on with it copies it."""
    folder = tmp_path_factory.mktemp("looped")
    run(recipe(write_words(folder / "data", QUERIES), tiny_student), folder / "home")
    return folder


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
    copied(two_runs, tmp_path)
    return tmp_path


def two_runs(folder: Path) -> None:
    warehouse = Warehouse(folder / "warehouse.duckdb", lock_seconds=20)
    first = start_run(warehouse, "distill", "nightly", "{}", {})
    finish_run(warehouse, first, "completed", None)
    second = start_run(warehouse, "distill", "nightly", "{}", {})
    finish_run(warehouse, second, "failed", HOSTILE)
