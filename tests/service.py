"""A folder as a user has it, with real processes in it: runs, a server, and somebody who clicks."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sources import write_words

from flows.connection import fetch
from flows.processes import started
from warehouse.connect import Warehouse

ROOT = Path(__file__).parents[1]
LONG = ("--set", "warmup.steps=100000")  # a training that nobody waits for
RECIPE = """
rounds = 1
[source]
path = "data"
[student]
model = "{student}"
[warmup]
steps = 4
batch = 8
control = false
evaluate_every = 2
[teach]
steps = 4
batch = 4
evaluate_every = 2
dev_queries = 10
[teacher]
gate = "warn"
[mining]
depth = 10
last_rank = 10
[evaluation]
rerank_depth = 10
[training]
steps = 4
batch = 8
list_length = 4
evaluate_every = 2
"""
HERE = ("--device", "cpu", "--precision", "fp32", "--threads", "1")


def settled(home: Path, student: Path) -> Path:
    """A folder with data and a recipe."""
    write_words(home / "data", 60)
    (home / "recipe.toml").write_text(RECIPE.format(student=student), "utf-8")
    return home


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "REMINE_"))}
    return {**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "COLUMNS": "160", **more}


def start(home: Path, *arguments: str, **more: str) -> "subprocess.Popen[str]":
    """`remine …` in a folder; what it says goes to a file, so that nothing waits for a reader."""
    log = (home / "said.log").open("a")
    command = [sys.executable, "-m", "flows.cli.main", *arguments]
    return subprocess.Popen(command, cwd=home, env=environment(**more), stdout=log, stderr=log, text=True)


def said(home: Path) -> str:
    return (home / "said.log").read_text("utf-8")


def wait(what: str, condition: Callable[[], Any], seconds: float) -> float:
    """Wait until something is so; returns how long it took."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, f"not within {seconds} s: {what}"
        time.sleep(0.2)
    return time.monotonic() - begun


def training(home: Path, step: str = "warmup") -> bool:
    """Whether a training of a step goes on: a killed one leaves its folder, which is named after its process."""
    folders = (home / "data" / "artifacts" / step).glob("*.tmp-*")
    return any(started(int(path.name.rpartition("-")[2])) for path in folders)


def url(home: Path) -> str:
    """The API of the folder's own server."""
    note = json.loads((home / ".prefect" / "server.json").read_text("utf-8"))
    return f"http://127.0.0.1:{note['port']}/api"


def ask(home: Path | str, path: str, body: Any = None) -> Any:
    """Ask the folder's server, or the one at an address, as a page in the browser does; a busy one is asked again."""
    api = url(home) if isinstance(home, Path) else home
    for attempt in range(8):
        try:
            answer = fetch(f"{api}/{path}", None if body is None else json.dumps(body).encode(), 20)
            return json.loads(answer or b"null")
        except OSError:
            if attempt == 7:
                raise
            time.sleep(0.5)
    raise AssertionError


def flow_runs(home: Path | str) -> list[dict[str, Any]]:
    """Flow runs that have begun, as the server knows them, the oldest first."""
    found: list[dict[str, Any]] = ask(home, "flow_runs/filter", {"sort": "START_TIME_ASC"})
    return [each for each in found if each["start_time"]]


def cancel(home: Path, flow_run: str) -> None:
    """The click on “Cancel”."""
    ask(home, f"flow_runs/{flow_run}/set_state", {"state": {"type": "CANCELLING", "name": "Cancelling"}})


def runs(home: Path) -> list[tuple[int, str, str, str]]:
    """Number, flow, status and error of every run in the warehouse."""
    with Warehouse(home / "warehouse.duckdb", 20).read() as connection:
        sql = "SELECT run_id, flow, status, coalesce(error, '') FROM runs ORDER BY run_id"
        return connection.execute(sql).fetchall()
