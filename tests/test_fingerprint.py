"""A model's fingerprint: the same for what computes the same, another for anything else."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny import make_student

from models.fingerprint import fingerprint_folder
from models.runtime import Runtime
from models.student import Student
from models.teacher import Teacher

ROOT = Path(__file__).parents[1]
EXACT = Runtime("cpu", "fp32", 1)


@pytest.fixture
def folder(tiny_student: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_student, tmp_path / "student"))


def rewrite(path: Path, change: Callable[[Any], Any]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], Any], **metadata: str) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata=metadata or None)


def touch_one_number(tensors: dict[str, torch.Tensor]) -> None:
    tensors["encoder.layer.1.output.dense.bias"][3] += 1e-6


def swap_two_rows(tensors: dict[str, torch.Tensor]) -> None:
    name = "embeddings.word_embeddings.weight"
    tensors[name] = tensors[name].flip(0).contiguous()


CHANGES: dict[str, Callable[[Path], None]] = {
    "a weight": lambda folder: weights(folder, touch_one_number),
    "the order of rows": lambda folder: weights(folder, swap_two_rows),
    "a tensor's name": lambda folder: weights(folder, lambda t: t.update(extra=t.pop("pooler.dense.bias"))),
    "a tensor's type": lambda folder: weights(
        folder, lambda t: t.update({"pooler.dense.bias": torch.zeros(16, dtype=torch.float64)})
    ),
    "the vocabulary": lambda folder: rewrite(
        folder / "tokenizer.json", lambda c: c["model"]["vocab"].update(red=c["model"]["vocab"]["cat"])
    ),
    "the normaliser": lambda folder: rewrite(
        folder / "tokenizer.json", lambda c: c["normalizer"].update(lowercase=False)
    ),
    "the pooling": lambda folder: rewrite(folder / "1_Pooling/config.json", lambda c: c.update(pooling_mode="cls")),
    "a prompt": lambda folder: rewrite(
        folder / "config_sentence_transformers.json", lambda c: c["prompts"].update(query="query: ")
    ),
    "swapped prompts": lambda folder: rewrite(
        folder / "config_sentence_transformers.json",
        lambda c: c.update(prompts={"query": c["prompts"]["document"], "document": c["prompts"]["query"]}),
    ),
    "the similarity": lambda folder: rewrite(
        folder / "config_sentence_transformers.json", lambda c: c.update(similarity_fn_name="dot")
    ),
    "the maximum length": lambda folder: rewrite(
        folder / "tokenizer_config.json", lambda c: c.update(model_max_length=32)
    ),
    "the maximum length in its older place": lambda folder: rewrite(
        folder / "sentence_bert_config.json", lambda c: c.update(max_seq_length=16)
    ),
    "an activation": lambda folder: rewrite(folder / "config.json", lambda c: c.update(hidden_act="relu")),
    "the modules": lambda folder: rewrite(folder / "modules.json", lambda c: c.pop()),
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_changes_vectors_changes_the_fingerprint(folder: Path, name: str) -> None:
    """Vectors kept under a name that did not change are another model's (pitfall 1)."""
    before = fingerprint_folder(folder)
    CHANGES[name](folder)
    assert fingerprint_folder(folder) != before


def test_a_fresh_process_with_another_hash_seed_gives_the_same_fingerprint(folder: Path) -> None:
    """A fingerprint that differs between processes makes everything stale every day (pitfall 5)."""
    code = "import sys; from pathlib import Path; from models.fingerprint import fingerprint_folder as f; "
    code += "print(f(Path(sys.argv[1])))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code, str(folder)],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert seen == {fingerprint_folder(folder)}
    assert len(fingerprint_folder(folder)) == 32


def test_how_tensors_are_spread_over_files_does_not_matter(folder: Path) -> None:
    before = fingerprint_folder(folder)
    tensors = load_file(folder / "model.safetensors")
    names = sorted(tensors, reverse=True)
    (folder / "model.safetensors").unlink()
    for number, part in enumerate((names[::2], names[1::2])):
        save_file({name: tensors[name] for name in part}, folder / f"model-{2 - number}-of-2.safetensors")
    assert fingerprint_folder(folder) == before


def test_metadata_cards_versions_and_the_folders_name_do_not_matter(folder: Path, tmp_path: Path) -> None:
    before = fingerprint_folder(folder)
    weights(folder, lambda tensors: None, note="made on a Sunday")
    (folder / "README.md").write_text("# Another card")
    rewrite(folder / "config.json", lambda c: c.update(transformers_version="4.0", _name_or_path="x", dtype="float32"))
    rewrite(folder / "config_sentence_transformers.json", lambda c: c.update(__version__={"pytorch": "2.0"}))
    rewrite(folder / "tokenizer.json", lambda c: c.update(truncation=None, padding={"strategy": {"Fixed": 9}}))
    assert fingerprint_folder(folder.rename(tmp_path / "moved")) == before


def test_a_copy_that_was_loaded_and_saved_is_the_same_model(folder: Path, tmp_path: Path, tiny_teacher: Path) -> None:
    Student.load(folder, EXACT).save(tmp_path / "again")
    assert fingerprint_folder(tmp_path / "again") == fingerprint_folder(folder)
    Teacher.load(tiny_teacher, EXACT).save(tmp_path / "teacher")
    assert fingerprint_folder(tmp_path / "teacher") == fingerprint_folder(tiny_teacher)


def test_older_ways_of_writing_a_folder_name_the_same_model(folder: Path) -> None:
    before = fingerprint_folder(folder)
    old = {"word_embedding_dimension": 32, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling/config.json").write_text(json.dumps(old))
    rewrite(
        folder / "modules.json",
        lambda c: [entry.update(type=f"sentence_transformers.models.{entry['type'].split('.')[-1]}") for entry in c],
    )
    assert fingerprint_folder(folder) == before


def test_pickled_weights_are_refused_wherever_they_are(folder: Path) -> None:
    """Reading a pickle runs its code (pitfall 47)."""
    fingerprint_folder(folder)
    (folder / "1_Pooling" / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(ValueError, match=r"1_Pooling.*only as pytorch_model\.bin.*pickle"):
        fingerprint_folder(folder)
    with pytest.raises(ValueError, match="pickle"):
        Student.load(folder, EXACT)
    (folder / "1_Pooling" / "pytorch_model.bin").unlink()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="pickle"):
        fingerprint_folder(folder)
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(ValueError, match="no weights to read"):
        fingerprint_folder(folder)


def test_pickles_beside_safetensors_do_no_harm(folder: Path) -> None:
    before = fingerprint_folder(folder)
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    assert fingerprint_folder(folder) == before


def test_what_is_no_model_or_is_damaged_is_refused_with_its_place(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no modules\.json"):
        fingerprint_folder(tmp_path)
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:-8])
    with pytest.raises(ValueError, match="8 bytes before the end of tensor"):
        fingerprint_folder(folder)
    (folder / "model.safetensors").write_bytes(whole)
    (folder / "config.json").write_text('{"a": 1,\n oops')
    with pytest.raises(ValueError, match=r"config\.json:2"):
        fingerprint_folder(folder)
    rewrite(folder / "modules.json", lambda c: c[1].update(path="../elsewhere"))
    with pytest.raises(ValueError, match="outside of the model"):
        fingerprint_folder(folder)


def test_other_weights_are_another_model(tmp_path: Path) -> None:
    one, other = (fingerprint_folder(make_student(tmp_path / str(seed), seed=seed)) for seed in (1, 2))
    assert one != other
