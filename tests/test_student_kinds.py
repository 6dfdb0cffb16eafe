"""Other kinds of students through the whole loop: two towers, trained by LoRA, on batches of one topic."""

import json
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sources import write_words
from tiny_loop import recipe, run

from warehouse.queries import leaderboard, quality

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect")]


def test_two_towers_trained_by_lora_on_topics_come_out_as_a_plain_folder(tiny_student: Path, tmp_path: Path) -> None:
    """What a step forgets of a student's kind shows at the next one, or in the exported folder."""
    made = recipe(write_words(tmp_path / "data", 60), tiny_student, rounds=1)
    changed = made.model_dump(mode="json")
    changed["student"] |= {"towers": 2, "lora": {"rank": 2, "alpha": 64.0, "target_modules": ["query", "value"]}}
    changed["training"] |= {"clusters": 2, "start": "warm", "lr": 0.05}
    changed["warmup"] |= {"control": False, "lr": 0.05}
    warehouse = run(type(made).model_validate(changed), tmp_path / "home")
    systems = set(leaderboard(warehouse, 1)["system"])
    assert {"base", "warm", "teacher", "round-1"} <= systems and quality(warehouse).height == 0
    artifacts = tmp_path / "home" / "data" / "artifacts"
    folders = sorted((artifacts / "train").glob("*/model"))
    assert len(folders) == 1 and not list(folders[0].rglob("*adapter*"))
    student = SentenceTransformer(str(folders[0]), device="cpu")
    assert type(student[0]).__name__ == "Router"
    texts = ["how to read a file", "open the house"]
    apart = student.encode_query(texts, prompt="") - student.encode_document(texts, prompt="")
    trained = [path for step in ("warmup", "train") for path in artifacts.glob(f"{step}/*/artifact.json")]
    facts = [json.loads(path.read_text("utf-8"))["facts"] for path in trained]
    assert [fact["steps"] for fact in facts] == [4, 4]
    learned = any(fact["best_step"] for fact in facts)
    assert (np.abs(apart).max() > 1e-3) == learned, "towers start alike, and stay so where no step was any better"
    assert list((artifacts / "export").glob("*/model/modules.json"))
