"""Failure is a state: whoever stops, cancels or kills a run finds it so in the warehouse and on the server."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from service import HERE, LONG, ask, cancel, flow_runs, runs, said, settled, start, training, wait

pytestmark = pytest.mark.slow
Begun = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, tiny_student: Path) -> Path:
    return settled(tmp_path_factory.mktemp("home"), tiny_student)


@pytest.fixture(scope="module")
def served(home: Path) -> "Iterator[subprocess.Popen[str]]":
    """A process that keeps the folder's server for all tests, and serves the recipe."""
    process = start(home, "serve", "recipe.toml", "--cron", "0 3 1 1 *", "--timezone", "Europe/Berlin", *HERE, *LONG)
    wait("it serves", lambda: process.poll() is not None or "Serving distill/recipe" in said(home), 90)
    yield process
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=90)


@pytest.fixture
def begun(home: Path, served: object) -> "Iterator[Callable[..., subprocess.Popen[str]]]":
    """Begins runs that are in the middle of a training which takes for ever."""
    made = []

    def begin(*more: str) -> "subprocess.Popen[str]":
        before = len(runs(home)) if (home / "warehouse.duckdb").exists() else 0
        made.append(start(home, "run", *HERE, *LONG, *more))
        wait("a training", lambda: made[-1].poll() is not None or (training(home) and len(runs(home)) > before), 120)
        assert made[-1].poll() is None, said(home)
        return made[-1]

    yield begin
    for process in made:
        process.kill()


def test_a_click_on_cancel_ends_a_run_that_a_person_started(home: Path, begun: Begun) -> None:
    process = begun()
    cancel(home, flow_runs(home)[-1]["id"])
    took = wait("the end", lambda: process.poll() is not None, 40)
    assert took < 40 and process.returncode == 1, said(home)
    assert said(home).strip().splitlines()[-1].startswith("Cancelled in Prefect; what was finished is kept")
    assert runs(home)[-1][2] == "cancelled"
    wait("the state", lambda: flow_runs(home)[-1]["state_type"] == "CANCELLED", 10)
    assert list((home / "data/artifacts/ingest").iterdir()), "what was finished is kept"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_within_ten_seconds(home: Path, begun: Begun, number: int, code: int) -> None:
    """Cancelled on both sides: what Prefect calls a crash wakes people up."""
    process = begun("--set", f"seed={number}")
    flow_run = flow_runs(home)[-1]["id"]
    process.send_signal(number)
    began = time.monotonic()
    process.wait(timeout=60)
    assert time.monotonic() - began < 10
    assert process.returncode == code, said(home)
    assert runs(home)[-1][2:] == ("cancelled", "stopped by a signal")
    assert wait("the state", lambda: state_of(home, flow_run) == "CANCELLED", 10 - (time.monotonic() - began)) < 10
    assert said(home).strip().splitlines()[-1].startswith("Stopped")


def test_a_killed_run_is_crashed_everywhere_at_the_next_start(home: Path, begun: Begun) -> None:
    """Prefect shows a killed run as running for ever."""
    process = begun("--set", "seed=77")
    process.kill()
    process.wait()
    killed = flow_runs(home)[-1]["id"]
    assert runs(home)[-1][2] == "running"
    following = start(home, "run", *HERE, "--set", "source.path=nowhere")
    assert following.wait(timeout=120) == 1, said(home)
    (state,) = [each["state"] for each in flow_runs(home) if each["id"] == killed]
    assert state["type"] == "CRASHED" and "process is gone" in state["message"]
    *_, (_, _, crashed, _), (_, _, failed, reason) = runs(home)
    assert (crashed, failed) == ("crashed", "failed") and "nowhere" in reason


def test_resume_goes_on_where_a_killed_run_was(home: Path, begun: Begun) -> None:
    process = begun("--set", "seed=78")
    state = home / "data/artifacts/state"
    wait("a saved state", lambda: state.exists() and any(state.iterdir()), 60)
    process.kill()
    process.wait()
    number = runs(home)[-1][0]
    kept = {path for path in (home / "data/artifacts").glob("*/*/artifact.json")}
    resumed = start(home, "resume", str(number))
    wait("a training", lambda: resumed.poll() is not None or (len(runs(home)) > number and training(home)), 120)
    assert resumed.poll() is None, said(home)
    resumed.send_signal(signal.SIGTERM)
    assert resumed.wait(timeout=30) == 143
    assert {path for path in (home / "data/artifacts").glob("*/*/artifact.json")} == kept
    assert runs(home)[-1][:3] == (number + 1, "distill", "cancelled")
    assert f"Going on with run {number}: distill of recipe." in said(home)


def deployed(home: Path, name: str) -> dict[str, object]:
    found = [each for each in ask(home, "deployments/filter", {}) if each["name"] == "recipe"]
    flows = {each["id"]: each["name"] for each in ask(home, "flows/filter", {})}
    (one,) = [each for each in found if flows[each["flow_id"]] == name]
    return one


def pressed(home: Path, name: str, **changes: object) -> str:
    """Fill the form of a deployment, one part changed, and press “Run”."""
    deployment = deployed(home, name)
    parameters = json.loads(json.dumps(deployment["parameters"]))
    recipe = parameters["recipe"]
    for key, value in changes.items():
        recipe[key] = {**recipe[key], **value} if isinstance(value, dict) else value
    made = ask(home, f"deployments/{deployment['id']}/create_flow_run", {"parameters": parameters})
    return str(made["id"])


def state_of(home: Path, flow_run: str) -> str:
    (found,) = [each["state_type"] for each in flow_runs(home) if each["id"] == flow_run] or [""]
    return str(found)


def test_deployments_are_there_and_one_is_scheduled(home: Path, served: object) -> None:
    names = {name: deployed(home, name) for name in ("distill", "refresh", "score")}
    (schedule,) = names["refresh"]["schedules"]  # type: ignore[misc]
    assert schedule["schedule"]["cron"] == "0 3 1 1 *" and schedule["schedule"]["timezone"] == "Europe/Berlin"
    assert schedule["active"]
    assert names["distill"]["schedules"] == names["score"]["schedules"] == []


def test_a_run_from_the_form_works_with_one_field_changed(home: Path, served: object) -> None:
    flow_run = pressed(home, "distill", warmup={"steps": 6})
    wait("its end", lambda: state_of(home, flow_run) in ("COMPLETED", "FAILED", "CRASHED"), 240)
    assert state_of(home, flow_run) == "COMPLETED", said(home)
    assert runs(home)[-1][1:3] == ("distill", "completed")


def test_a_served_run_that_is_cancelled_or_killed_is_so_in_the_warehouse(home: Path, served: object) -> None:
    """Whoever kills the process of a served run leaves only Prefect's runner to say so."""
    flow_run = pressed(home, "distill", seed=5)
    wait("a training", lambda: training(home), 120)
    cancel(home, flow_run)
    assert wait("the end", lambda: state_of(home, flow_run) == "CANCELLED", 60) < 40
    wait("the row", lambda: runs(home)[-1][2] == "cancelled", 10)
    flow_run = pressed(home, "distill", seed=6)
    wait("a training", lambda: training(home) and runs(home)[-1][2] == "running", 120)
    holder = json.loads((home / "warehouse.duckdb.run.json").read_text())
    subprocess.run(["kill", "-9", str(holder["pid"])], check=True)
    wait("the end", lambda: state_of(home, flow_run) == "CRASHED", 40)
    wait("the row", lambda: runs(home)[-1][2] == "crashed", 40)
    assert "RUNNING" not in {each["state_type"] for each in flow_runs(home)}
