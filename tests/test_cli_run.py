"""`remine run` for real: a server of its own, what it leaves, and what happens when it is stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from service import RECIPE
from sources import write_words

from flows.locks import run_lock
from warehouse.connect import Warehouse
from warehouse.queries import run_rows

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
QUERIES = 60
RUN = ("run", "--device", "cpu", "--precision", "fp32", "--threads", "1")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, tiny_student: Path) -> Path:
    """A folder as a user has it: data and a recipe."""
    home = tmp_path_factory.mktemp("home")
    write_words(home / "data", QUERIES)
    (home / "recipe.toml").write_text(RECIPE.format(student=tiny_student), "utf-8")
    return home


@pytest.fixture(scope="module")
def first(home: Path) -> "subprocess.CompletedProcess[str]":
    """The first run in the folder."""
    return remine(home, *RUN)


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "REMINE_"))}
    return {**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "COLUMNS": "160"}


def remine(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "flows.cli.main", *arguments]
    return subprocess.run(command, cwd=home, env=environment(), capture_output=True, text=True, timeout=900)


def statuses(home: Path) -> list[str]:
    return run_rows(Warehouse(home / "warehouse.duckdb"))["status"].to_list()


def artifacts(home: Path) -> set[str]:
    return {path.name for path in (home / "data" / "artifacts").glob("*/*")}


def test_a_run_ends_with_a_summary_and_stops_its_server(home: Path, first: "subprocess.CompletedProcess[str]") -> None:
    assert first.returncode == 0, first.stderr
    assert all(system in first.stdout for system in ("bm25", "base", "warm", "round-1"))
    assert "Traceback" not in first.stderr
    assert "INFO" not in first.stderr, "each task run's states are for the UI"
    assert statuses(home) == ["completed"]
    assert not (home / ".prefect" / "server.json").exists()


def test_unchanged_it_computes_nothing_again(home: Path, first: "subprocess.CompletedProcess[str]") -> None:
    before = artifacts(home)
    again = remine(home, *RUN)
    assert again.returncode == 0, again.stderr
    assert artifacts(home) == before
    assert statuses(home) == ["completed", "completed"]


def test_search_shows_base_student_and_teacher(home: Path, first: "subprocess.CompletedProcess[str]") -> None:
    text = json.loads((home / "data" / "queries.jsonl").read_text("utf-8").splitlines()[0])["text"]
    told = remine(home, "search", text, "-k", "3", "--format", "json")
    assert told.returncode == 0, told.stderr
    hits = json.loads(told.stdout)
    systems = list(dict.fromkeys(hit["system"] for hit in hits))
    assert systems[0] == "base"
    assert systems[-1] == "teacher"
    assert all([hit["rank"] for hit in hits if hit["system"] == system] == [1, 2, 3] for system in systems)
    found = {hit["id"] for hit in hits if hit["system"] != "teacher"}
    assert {hit["id"] for hit in hits if hit["system"] == "teacher"} <= found
    assert all(hit["text"].endswith(f"passage {hit['id'].removeprefix('d')}") for hit in hits)


def test_search_as_a_table_is_side_by_side(home: Path, first: "subprocess.CompletedProcess[str]") -> None:
    told = remine(home, "search", "passage", "-k", "2")
    assert told.returncode == 0, told.stderr
    assert "base" in told.stdout.splitlines()[0]
    assert "teacher" in told.stdout.splitlines()[0]


def test_score_reuses_what_the_run_scored(home: Path, first: "subprocess.CompletedProcess[str]") -> None:
    (taught,) = (home / "data" / "artifacts" / "teach").iterdir()
    labels = home / "data" / "qrels" / "train.tsv"
    columns = ("--column", "query_id=query-id", "--column", "passage_id=corpus-id")
    options = ("--device", "cpu", "--precision", "fp32", "--threads", "1")
    command = ("score", "--pairs", str(labels), *columns, "--teacher", str(taught), "--out", "scores.csv", *options)
    told = remine(home, *command)
    assert told.returncode == 0, told.stderr
    assert "36 pairs: 0 new (0 tokens, 0.0 s), 36 reused" in told.stdout
    lines = (home / "scores.csv").read_text("utf-8").splitlines()
    assert lines[0] == "query-id,corpus-id,score,logit,n_tokens,truncated" and len(lines) == 37
    question = told.stdout.splitlines()[-1].removeprefix('Look: remine sql "').removesuffix('"')
    assert len(json.loads(remine(home, "sql", question, "--format", "json").stdout)) == 20
    (home / "bad.csv").write_text("query_id,passage_id\nq1,nobody\n", "utf-8")
    told = remine(home, "score", "--pairs", "bad.csv", "--teacher", str(taught), *options)
    assert told.returncode == 1 and "bad.csv:2: passage 'nobody' is not in the corpus" in told.stderr
    assert "Traceback" not in told.stderr


def test_export_makes_a_folder_that_loads(home: Path, first: "subprocess.CompletedProcess[str]") -> None:
    told = remine(home, "export", "1", "student")
    assert told.returncode == 0, told.stderr
    script = (
        "import sys; from sentence_transformers import SentenceTransformer as S; print(S('student').encode('a').shape)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], cwd=home, env=environment(), capture_output=True, text=True)
    assert loaded.returncode == 0, loaded.stderr
    assert (home / "student" / "README.md").exists()


def test_a_second_run_at_once_is_cancelled_and_names_the_first(
    home: Path, first: "subprocess.CompletedProcess[str]"
) -> None:
    """Pitfall 44: two runs at once writing one DuckDB file."""
    before = statuses(home)
    with run_lock(home, "nightly"):
        told = remine(home, *RUN)
    assert told.returncode == 1
    assert f"the run of 'nightly' (process {os.getpid()}" in told.stderr
    assert "Traceback" not in told.stderr
    assert statuses(home) == before


def test_a_failure_is_one_message(home: Path, first: "subprocess.CompletedProcess[str]") -> None:
    told = remine(home, *RUN, "--set", "source.path=nowhere")
    assert told.returncode == 1
    assert "nowhere: no such file or folder" in told.stderr
    assert "Traceback" not in told.stderr + told.stdout
    assert statuses(home)[0] == "failed"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_with_one_line(
    home: Path, first: "subprocess.CompletedProcess[str]", number: int, code: int
) -> None:
    command = [sys.executable, "-m", "flows.cli.main", *RUN, "--set", "warmup.steps=100000", "--set", f"seed={number}"]
    process = subprocess.Popen(
        command, cwd=home, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for_training(home, process)
    process.send_signal(number)
    begun = time.monotonic()
    _, said = process.communicate(timeout=120)
    assert time.monotonic() - begun < 60
    assert process.returncode == code, said
    assert said.strip().splitlines()[-1].startswith("Stopped")
    assert "Traceback" not in said
    assert statuses(home)[0] == "cancelled"
    assert not (home / ".prefect" / "server.json").exists()


def wait_for_training(home: Path, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 200
    while not list((home / "data" / "artifacts" / "warmup").glob("*.tmp-*")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "the warm-up did not begin"
        time.sleep(0.1)
