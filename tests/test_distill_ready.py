"""The whole loop with two ready teachers and a student that brings its own code: what people and views see of it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from sources import write_words
from tiny import make_teacher

from flows.recipe import Recipe
from models.fingerprint import fingerprint_folder
from models.locate import CODE, locate
from models.runtime import Runtime
from models.student import Student
from tasks.search import search
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.queries import quality

OWN = """from transformers import BertConfig, BertModel


class OwnConfig(BertConfig):
    model_type = "own_bert"


class OwnModel(BertModel):
    config_class = OwnConfig
"""
CPU = Runtime("cpu", "fp32", 1)


@pytest.fixture(scope="module")
def own(tiny_student: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student that transformers can only load by running the folder's Python."""
    folder = Path(shutil.copytree(tiny_student, tmp_path_factory.mktemp("own") / "student"))
    config = json.loads((folder / "config.json").read_text())
    mapped = {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}
    changed = {**config, "model_type": "own_bert", "architectures": ["OwnModel"], "auto_map": mapped}
    (folder / "config.json").write_text(json.dumps(changed))
    (folder / "own.py").write_text(OWN)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, own: Path, prefect: str) -> Path:
    from flows.distill import distill

    root = tmp_path_factory.mktemp("ready")
    teachers = [str(make_teacher(root / f"teacher-{seed}", seed=seed)) for seed in (30, 31)]
    settings: dict[str, Any] = {
        "name": "ready",
        "rounds": 1,
        "source": {"path": str(write_words(root / "data", 60))},
        "student": {"model": str(own), "max_length": 32, "trust_remote_code": True},
        "warmup": {"steps": 4, "batch": 8, "lr": 1e-3, "evaluate_every": 2, "control": False},
        "teacher": {"model": teachers, "gate": "warn"},
        "denoising": {"policy": "drop"},
        "mining": {"depth": 8, "last_rank": 8},
        "evaluation": {"rerank_depth": 10},
        "training": {"steps": 4, "batch": 8, "list_length": 4, "lr": 1e-3, "evaluate_every": 2},
    }
    where = Where(home=root / "home", device="cpu", precision="fp32", threads=1)
    state: Any = distill(Recipe.model_validate(settings), where, return_state=True)
    assert state.is_completed(), state
    return root / "home"


def rows(home: Path, sql: str) -> list[tuple[Any, ...]]:
    with Warehouse(home / "warehouse.duckdb").read() as connection:
        return connection.execute(sql).fetchall()


def test_views_show_the_ensemble_and_the_store_its_members(home: Path) -> None:
    """A view with one row per member would show each candidate three times, under probabilities of the ensemble."""
    counts = rows(
        home,
        "SELECT count(*), count(DISTINCT (query_id, passage_id)), count(logit), count(probability), "
        "count(DISTINCT teacher), count(verdict), avg(logit), stddev_pop(logit) FROM scored_candidates",
    )[0]
    assert counts[:4] == (counts[0],) * 4 and counts[4:6] == (1, counts[0]) and counts[0] == 36 * 8
    assert abs(counts[6]) < 0.5 and 0.3 < counts[7] < 1.2
    (name,) = rows(home, "SELECT DISTINCT teacher FROM scored_candidates")[0]
    assert name.count(" + ") == 1
    stored = dict(
        rows(home, "SELECT m.name, count(*) FROM teacher_scores JOIN models m ON model_id = teacher_id GROUP BY 1")
    )
    assert len(stored) == 3 and len(set(stored.values())) == 1 and stored[name] > 36 * 8
    assert quality(Warehouse(home / "warehouse.duckdb")).height == 0


def test_probabilities_are_the_calibrated_ensembles(home: Path) -> None:
    """With a blend the verdict's; of the logit alone, sigmoid(a * logit + b) by the ensemble's own row."""
    (calibrated,) = rows(home, "SELECT a, b FROM models WHERE role = 'teacher' AND name LIKE '% + %'")
    assert calibrated != (1.0, 0.0) and calibrated[0] > 0
    cost = rows(home, "SELECT round, pairs, scored, reused FROM cost WHERE pairs > 0 ORDER BY round")
    assert all(row[1] == row[2] + row[3] for row in cost)
    members = "SELECT count(*) FROM teacher_scores JOIN models ON model_id = teacher_id WHERE name NOT LIKE '% + %'"
    assert rows(home, members) == [(sum(row[2] for row in cost),)]


def test_a_search_lists_what_the_ensemble_prefers(home: Path) -> None:
    found = search(Where(home=home, device="cpu", precision="fp32", threads=1), "how to read", 3)
    assert {"base", "teacher"} <= set(found["system"])
    assert found.filter(found["system"] == "teacher")["score"].is_finite().all()


def test_code_runs_only_where_the_recipe_says_so(own: Path) -> None:
    """Pitfall 47: a security switch that is parsed and ignored."""
    with pytest.raises(ValueError, match="trust_remote_code"):
        Student.load(own, CPU)
    trusted = Student.load(own, CPU, trust_remote_code=True)
    assert type(trusted.model[0].model).__name__ == "OwnModel"


def test_other_code_is_another_model(own: Path, tmp_path: Path) -> None:
    """Pitfall 1: the weights are the same, the vectors need not be."""
    folder = Path(shutil.copytree(own, tmp_path / "other"))
    before = fingerprint_folder(folder)
    (folder / "own.py").write_text(OWN + "\n# pooled otherwise\n")
    assert before == fingerprint_folder(own) != fingerprint_folder(folder)


@pytest.mark.parametrize("trusted", [False, True])
def test_python_files_are_fetched_only_where_code_is_trusted(monkeypatch: pytest.MonkeyPatch, trusted: bool) -> None:
    import huggingface_hub

    asked: dict[str, Any] = {}
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **kwargs: asked.update(kwargs) or "/x")
    locate("owner/model", trusted)
    assert (set(CODE) <= set(asked["allow_patterns"])) is trusted
