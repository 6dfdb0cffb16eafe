"""`prefect deploy --all` and a worker do with a written prefect.yaml what `remine serve` does by itself."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from service import HERE, RECIPE, ROOT, ask, environment, flow_runs, runs, said, start, url, wait
from sources import write_words

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path, tiny_student: Path) -> "Iterator[Path]":
    """A folder with a recipe and a Prefect server of its own."""
    write_words(tmp_path / "data", 60)
    (tmp_path / "tickets.toml").write_text(RECIPE.format(student=tiny_student), "utf-8")
    (tmp_path / ".prefect").mkdir()
    server = start(tmp_path, "ui")
    wait("the pages", lambda: "http://127.0.0.1" in said(tmp_path) and "Ctrl-C" in said(tmp_path), 90)
    yield tmp_path
    server.send_signal(signal.SIGINT)
    server.wait(timeout=60)


def prefect(home: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    whole = environment(PREFECT_API_URL=url(home), PREFECT_HOME=str(home / ".prefect"), PYTHONPATH=str(ROOT))
    log = (home / "prefect.log").open("ab")
    return subprocess.Popen([sys.executable, "-m", "prefect", *arguments], cwd=home, env=whole, stdout=log, stderr=log)


def test_a_worker_runs_what_was_deployed(home: Path) -> None:
    written = start(home, "serve", "tickets.toml", "--cron", "0 3 * * 1", *HERE, "--yaml", "prefect.yaml")
    assert written.wait(timeout=60) == 0, said(home)
    log = home / "prefect.log"
    for command in (["work-pool", "create", "remine", "--type", "process"], ["--no-prompt", "deploy", "--all"]):
        assert prefect(home, *command).wait(timeout=120) == 0, log.read_text()
    flows = {each["id"]: each["name"] for each in ask(home, "flows/filter", {})}
    made = {flows[each["flow_id"]]: each for each in ask(home, "deployments/filter", {})}
    assert set(made) == {"distill", "refresh", "score", "evaluate", "sweep"}
    assert [each["schedule"]["cron"] for each in made["refresh"]["schedules"]] == ["0 3 * * 1"]
    worker = prefect(home, "worker", "start", "--pool", "remine")
    try:
        flow_run = ask(home, f"deployments/{made['distill']['id']}/create_flow_run", {})["id"]
        ended = ("COMPLETED", "FAILED", "CRASHED")
        wait("its end", lambda: [each for each in flow_runs(home) if each["state_type"] in ended], 240)
    finally:
        worker.send_signal(signal.SIGINT)
        worker.wait(timeout=60)
    (found,) = [each for each in flow_runs(home) if each["id"] == flow_run]
    assert found["state_type"] == "COMPLETED", log.read_text()
    assert [row[:3] for row in runs(home)] == [(1, "distill", "completed")]
    logs = ask(home, "logs/filter", {"logs": {"flow_run_id": {"any_": [flow_run]}}})
    assert {each["name"].split(".")[0] for each in logs} >= {"prefect", "remine"}, "our modules' logs are in the run"
