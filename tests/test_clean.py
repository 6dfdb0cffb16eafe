"""`remine clean`: what no kept run refers to goes, and nothing else."""

from pathlib import Path

import pytest
from command import Remine
from copies import copied

from flows.locks import run_lock
from tasks.artifacts import Artifact, make_artifact
from tasks.cleaning import unused
from tasks.record import record
from tasks.refs import Run
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.load import finish_run, start_run
from warehouse.promotions import add_promotion


def begun(home: Path) -> Run:
    number = start_run(Warehouse(home / "warehouse.duckdb"), "distill", "nightly", "{}", {})
    return Run(id=number, recipe="nightly", where=Where(home=home))


def ended(run: Run, status: str = "completed") -> None:
    finish_run(Warehouse(run.where.warehouse_path), run.id, status, None)


def made(run: Run, step: str, name: str, inputs: dict[str, str], **facts: str) -> Artifact:
    def build(folder: Path) -> dict[str, str]:
        (folder / "content").write_text(name * 1000)
        return facts

    artifact = make_artifact(run.root, step, 1, {"name": name}, inputs, build)
    record(run, artifact, 1)
    return artifact


@pytest.fixture
def three(tmp_path: Path) -> dict[str, Artifact]:
    """Three runs: the second learned from what the first encoded, the third from nothing of either."""
    artifacts = tmp_path / "data" / "artifacts"
    return {
        name: each.model_copy(update={"path": artifacts / each.step / each.path.name})
        for name, each in copied(play, tmp_path).items()
    }


def play(home: Path) -> dict[str, Artifact]:
    found = {}
    for number in (1, 2, 3):
        run = begun(home)
        found[f"corpus {number}"] = made(run, "ingest", f"corpus {number}", {})
        inputs = {"corpus": found[f"corpus {number}"].fingerprint}
        found[f"train {number}"] = made(run, "train", f"train {number}", inputs, student=f"student {number}")
        if number == 2:
            older = {"corpus": found["corpus 1"].fingerprint, "student": "student 1"}
            vectors = made(run, "encode", "vectors", older)
            found["mined 2"] = made(run, "mine", "mined", {"vectors": vectors.fingerprint})
        ended(run)
    return found


def paths(*artifacts: Artifact) -> set[Path]:
    return {each.path for each in artifacts}


def test_where_every_run_is_kept_only_what_none_refers_to_goes(three: dict[str, Artifact], tmp_path: Path) -> None:
    where = Where(home=tmp_path)
    assert unused(where, 0).folders == []
    lost = make_artifact(where.artifacts_path, "encode", 1, {"name": "lost"}, {}, lambda folder: {})
    half = lost.path.with_name("half.tmp-1")
    half.mkdir()
    found = unused(where, 0)
    assert (found.folders, found.halves, found.kept) == ([lost.path], [half], [1, 2, 3])


def test_of_older_runs_goes_what_newer_ones_do_not_come_from(three: dict[str, Artifact], tmp_path: Path) -> None:
    """What a kept artifact was made from stays, models that made it included."""
    assert set(unused(Where(home=tmp_path), 1).folders) == paths(
        *(three[name] for name in three if "3" not in name)
    ) | {path for path in (tmp_path / "data/artifacts/encode").iterdir()}
    assert unused(Where(home=tmp_path), 2).folders == []


def test_the_student_in_use_and_what_it_came_from_stay(three: dict[str, Artifact], tmp_path: Path) -> None:
    promote(tmp_path, 3, three["train 1"])
    gone = unused(Where(home=tmp_path), 1).folders
    assert set(gone) >= paths(three["train 2"], three["corpus 2"], three["mined 2"])
    assert not set(gone) & paths(three["train 1"], three["corpus 1"])
    promote(tmp_path, 2, three["train 2"])
    assert unused(Where(home=tmp_path), 1).folders == [], "the one before can be gone back to"


def promote(home: Path, run: int, trained: Artifact) -> None:
    """Enter a student as the one in use."""
    student = {"system": "warm", "fingerprint": trained.fingerprint, "path": str(trained.path / "model")}
    decided = {"run_id": run, "trust_remote_code": False, "evaluation": str(home), "made_by": "run", "why": "better"}
    add_promotion(Warehouse(home / "warehouse.duckdb"), "nightly", {**student, **decided, "who": "somebody"})


def test_a_run_that_did_not_end_can_still_go_on(three: dict[str, Artifact], tmp_path: Path) -> None:
    run = begun(tmp_path)
    kept = made(run, "ingest", "corpus 4", {})
    ended(run, "cancelled")
    assert not set(unused(Where(home=tmp_path), 1).folders) & paths(kept, three["train 3"])


def test_it_shows_what_goes_asks_and_removes(three: dict[str, Artifact], tmp_path: Path, remine: Remine) -> None:
    there = {path for path in (tmp_path / "data").rglob("artifact.json")}
    asked = remine("clean", "--keep", "1", "--home", str(tmp_path), stdin="n\n")
    assert asked.returncode == 1 and "train" in asked.stdout and "KiB" in asked.stdout
    assert {path for path in (tmp_path / "data").rglob("artifact.json")} == there
    done = remine("clean", "--keep", "1", "--home", str(tmp_path), "--yes")
    assert done.returncode == 0, done.stderr
    left = {path.parent for path in (tmp_path / "data").rglob("artifact.json")}
    assert left == paths(three["corpus 3"], three["train 3"])
    again = remine("clean", "--keep", "1", "--home", str(tmp_path), "--yes")
    assert again.returncode == 0 and "Nothing to remove" in again.stderr


def test_scores_and_unfinished_trainings_stay(three: dict[str, Artifact], tmp_path: Path) -> None:
    for folder in ("shards/teacher", "state/training"):
        path = tmp_path / "data/artifacts" / folder
        path.mkdir(parents=True)
        (path / "artifact.json").write_text("{}")
    assert not [path for path in unused(Where(home=tmp_path), 1).folders if path.parent.name in ("shards", "state")]


def test_while_a_run_goes_on_nothing_is_removed(three: dict[str, Artifact], tmp_path: Path, remine: Remine) -> None:
    with run_lock(tmp_path, "nightly"):
        told = remine("clean", "--home", str(tmp_path), "--yes")
    assert told.returncode == 1 and "'nightly'" in told.stderr
