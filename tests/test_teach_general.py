"""`remine teach`: one teacher for several collections, and teachers that learn on from it."""

import json
from pathlib import Path

import numpy as np
import pytest
from command import Remine
from sources import write_words

from flows.curriculum import load_curriculum
from warehouse.connect import Warehouse
from warehouse.queries import quality

SMALL = """
[student]
model = "{student}"
[teach]
steps = 4
batch = 4
negatives = 3
evaluate_every = 2
dev_queries = 10
[mining]
depth = 5
last_rank = 5
[evaluation]
rerank_depth = 5
"""


def curriculum(tmp_path: Path, student: Path) -> Path:
    sources = [write_words(tmp_path / name, count) for name, count in (("first", 40), ("second", 30))]
    path = tmp_path / "many.toml"
    named = "".join(f'[[sources]]\npath = "{source}"\n' for source in sources)
    path.write_text(named + SMALL.format(student=student))
    return path


def test_what_cannot_be_taught_is_refused_before_anything_is_read(tmp_path: Path, tiny_student: Path) -> None:
    path = curriculum(tmp_path, tiny_student)
    assert [source.corpus for source in load_curriculum(path, []).sources] == ["first", "second"]
    with pytest.raises(ValueError, match="several sources are called first"):
        load_curriculum(path, [f'sources=[{{path="{tmp_path}/first"}}, {{path="x/first"}}]'])
    with pytest.raises(ValueError, match=r"teach\.folds"):
        load_curriculum(path, ["teach.folds=2"])
    with pytest.raises(ValueError, match="sources"):
        load_curriculum(path, ["sources=[]"])
    with pytest.raises(FileNotFoundError, match=r"general-teacher\.toml"):
        load_curriculum(tmp_path / "none.toml", [])


@pytest.mark.slow
@pytest.mark.usefixtures("prefect")
def test_one_teacher_is_taught_on_two_collections_measured_on_both_and_taught_on(
    tmp_path: Path, tiny_student: Path, remine: Remine
) -> None:
    from sentence_transformers import CrossEncoder

    path, out, home = curriculum(tmp_path, tiny_student), tmp_path / "general", tmp_path / "home"
    here = ["--home", str(home), "--device", "cpu", "--precision", "fp32", "--threads", "1"]
    told = remine("teach", str(path), "--out", str(out), "--format", "json", *here)
    assert told.returncode == 0, told.stderr
    rows = json.loads(told.stdout)
    assert [(row["source"], row["split"]) for row in rows] == [
        (source, split) for source in ("first", "second") for split in ("dev", "test")
    ]
    assert all(row["gain"] == pytest.approx(row["teacher"] - row["student"]) for row in rows)
    model = CrossEncoder(str(out), device="cpu")
    assert np.isfinite(model.predict([("how to", "read file")])).all()
    assert quality(Warehouse(home / "warehouse.duckdb")).height == 0

    made = {file: file.stat().st_mtime_ns for file in home.rglob("artifact.json")}
    again = remine("teach", str(path), "--out", str(out), "--format", "json", *here)
    assert json.loads(again.stdout) == rows, "an export of its own is replaced, nothing else is made"
    assert {file: file.stat().st_mtime_ns for file in home.rglob("artifact.json")} == made
    resumed = remine("resume", "1", "--home", str(home))
    assert resumed.returncode == 0 and "The teacher is in" in resumed.stdout, resumed.stderr
