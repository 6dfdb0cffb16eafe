"""LoRA: what learns, what is merged, and that nothing of it is left behind."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from tiny import sentences
from training import FP32, PLAN, Killed, flat, kill_after, make_lists, timeless, train

from models.half import half_copy
from models.loop import train_student
from models.lora import Lora, adapted
from models.reshape import part_towers
from models.runtime import Runtime
from models.student import Student
from tasks.baseline.settings import StudentSettings
from tasks.baseline.systems import base_student
from tasks.train.training import Job, _adapting
from tasks.where import Where

LORA = Lora(rank=2, alpha=8.0, targets=("query", "value"))
TEXTS = sentences(8, seed=4)


def last_is_best(student: Student) -> float:
    last_is_best.calls += 1  # type: ignore[attr-defined]
    return float(last_is_best.calls)  # type: ignore[attr-defined]


last_is_best.calls = 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_only_the_targets_change_and_the_folder_is_plain(tiny_student: Path, tmp_path: Path, precision: str) -> None:
    student = Student.load(tiny_student, Runtime("cpu", precision, 1))  # type: ignore[arg-type]
    before, names = student.state(), [name for name, _ in student.named_parameters()]
    plan = replace(PLAN, lora=LORA, lr=0.05)
    train_student(student, make_lists(student), plan, last_is_best, tmp_path / "state")
    moved = {name for name, value in student.state().items() if not torch.equal(value, before[name])}
    assert len(moved) == 4 and all(name.endswith(("query.weight", "value.weight")) for name in moved)
    assert [name for name, _ in student.named_parameters()] == names
    assert all(weight.requires_grad for weight in student.parameters())
    student.save(tmp_path / "saved")
    theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode_query(TEXTS)
    ours = Student.load(tmp_path / "saved", FP32).encode_queries(TEXTS).vectors
    assert np.abs(ours - theirs).max() < 1e-5
    assert not list((tmp_path / "saved").rglob("*adapter*"))


def test_a_killed_run_ends_as_an_uninterrupted_one_to_the_bit(tiny_student: Path, tmp_path: Path) -> None:
    """Pitfall 28."""
    plan = replace(PLAN, lora=LORA, save_seconds=0.0)
    whole, expected = train(tiny_student, tmp_path / "whole", plan)
    with pytest.raises(Killed):
        train(tiny_student, tmp_path / "parts", plan, tick=kill_after(3))
    ticks: list[int] = []
    resumed, trained = train(tiny_student, tmp_path / "parts", plan, tick=ticks.append)
    assert ticks[0] == 3 and timeless(trained) == timeless(expected) and torch.equal(flat(resumed), flat(whole))


def test_the_copy_that_reads_has_what_was_learned(tiny_student: Path) -> None:
    """An evaluation that saw the base's weights would choose a checkpoint by chance."""
    student = Student.load(tiny_student, FP32)
    base = student.encode_passages(TEXTS).vectors
    with adapted(student, Lora(rank=4), seed=0):
        assert np.abs(student.encode_passages(TEXTS).vectors - base).max() < 1e-6
        with torch.no_grad():
            for name, weight in student.named_parameters():
                if "lora_B" in name:
                    weight.normal_(0, 0.2)
        exact = student.encode_passages(TEXTS).vectors
        tower = student.towers[0]
        copy = half_copy(tower.first)
        assert not any("lora" in name for name, _ in copy.named_modules())
        with torch.inference_mode():
            features = student._features(tower, student.tokenize_passages(TEXTS))
            read = student._finish(tower, copy(features)).numpy()
        assert np.abs(exact - base).max() > 0.1 and np.abs(read - exact).max() < 0.03
    assert np.abs(student.encode_passages(TEXTS).vectors - exact).max() < 1e-5


def test_what_adapters_freeze_already_can_be_frozen_by_name(tiny_student: Path, tmp_path: Path) -> None:
    student = Student.load(tiny_student, FP32)
    plan = replace(PLAN, lora=LORA, frozen=("word_embeddings",))
    train_student(student, make_lists(student), plan, last_is_best, tmp_path / "state")
    with pytest.raises(ValueError, match="no parameter's name contains 'wrod'"):
        train_student(student, make_lists(student), replace(plan, frozen=("wrod",)), last_is_best, tmp_path / "other")


def test_after_a_failed_training_the_student_is_as_it_was(tiny_student: Path) -> None:
    student = Student.load(tiny_student, FP32)
    before = student.state()
    with pytest.raises(Killed), adapted(student, LORA, seed=0):
        with torch.no_grad():
            for weight in student.parameters():
                if weight.requires_grad:
                    weight.add_(1.0)
        raise Killed
    after = student.state()
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


def test_both_towers_are_adapted(tiny_student: Path, tmp_path: Path) -> None:
    student = part_towers(Student.load(tiny_student, FP32))
    before = student.state()
    plan = replace(PLAN, lora=LORA, lr=0.05)
    train_student(student, make_lists(student), plan, last_is_best, tmp_path)
    moved = {name for name, value in student.state().items() if not torch.equal(value, before[name])}
    assert len(moved) == 8 and {"sub_modules.query" in name for name in moved} == {True, False}


def test_a_target_that_is_not_there_is_named(tiny_student: Path) -> None:
    with (
        pytest.raises(ValueError, match=r"no linear layer's name ends in q_proj; there are dense, key, query, value"),
        adapted(Student.load(tiny_student, FP32), Lora(2, targets=("q_proj", "query")), 0),
    ):
        pass


def test_without_peft_it_is_said_before_anything_is_made(
    tiny_student: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    monkeypatch.setattr("models.lora.find_spec", lambda name: None)
    settings = StudentSettings.model_validate({"model": str(tiny_student), "lora": {"rank": 4}})
    with pytest.raises(ModuleNotFoundError, match=r"student\.lora trains through the library peft.*'\.\[lora\]'"):
        base_student(Where(home=tmp_path), settings)


def test_adapters_name_another_training_and_no_other_student(tiny_student: Path, tmp_path: Path) -> None:
    """Pitfall 2: a student trained with adapters served under the name of one without."""
    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1)
    plain = base_student(where, StudentSettings(model=str(tiny_student)))
    small = base_student(where, StudentSettings.model_validate({"model": str(tiny_student), "lora": {"rank": 4}}))
    assert plain.fingerprint == small.fingerprint and plain.path == small.path

    def job(start: object) -> Job:
        rest = {"step": "train", "code": 1, "named": {}, "corpus": None, "inputs": {}, "plan": PLAN, "lists": None}
        return Job(start=start, measure="", **rest)  # type: ignore[arg-type]

    assert job(plain).settings() == {} and job(small).settings()["lora"]["rank"] == 4
    assert _adapting(job(plain)) == PLAN and _adapting(job(small)).lora == Lora(4)
