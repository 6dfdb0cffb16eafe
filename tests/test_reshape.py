"""Students cut from a larger one, and students from random weights."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import make_student, sentences

from models.reshape import compare_by, cut_layers, part_towers, start_anew
from models.runtime import Runtime
from models.student import Student
from tasks.baseline.settings import StudentSettings
from tasks.baseline.systems import base_student
from tasks.where import Where

FP32 = Runtime("cpu", "fp32", 1)
TEXTS = sentences(6, seed=3)


def vectors(student: Student) -> np.ndarray:
    return student.encode_passages(TEXTS).vectors


def test_a_cut_student_computes_what_its_layers_computed_and_loads_anywhere(tiny_student: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    whole, cut = Student.load(tiny_student, FP32), Student.load(tiny_student, FP32)
    cut_layers(cut, [1])
    layers = whole.model[0].auto_model.encoder.layer
    layers[0].forward = lambda hidden, *_, **__: hidden  # the first layer does nothing
    assert np.abs(vectors(whole) - vectors(cut)).max() < 1e-6
    assert np.abs(vectors(Student.load(tiny_student, FP32)) - vectors(cut)).max() > 0.01
    cut.save(tmp_path / "cut")
    again = SentenceTransformer(str(tmp_path / "cut"), device="cpu")
    assert again[0].auto_model.config.num_hidden_layers == 1
    assert np.abs(again.encode_document(TEXTS) - vectors(cut)).max() < 1e-5


@pytest.mark.parametrize("layers", [[], [2], [-1], [1, 0], [0, 0]])
def test_layers_that_are_not_there_or_not_rising_are_refused(tiny_student: Path, layers: list[int]) -> None:
    with pytest.raises(ValueError, match="of a transformer with 2: needed rising numbers from 0 to 1"):
        cut_layers(Student.load(tiny_student, FP32), layers)


def test_random_weights_follow_from_the_seed_and_nothing_of_the_old_ones_stays(tiny_student: Path) -> None:
    before = Student.load(tiny_student, FP32)
    drawn = []
    for seed in (0, 0, 1):
        student = Student.load(tiny_student, FP32)
        state = torch.get_rng_state()
        start_anew(student, seed)
        assert torch.equal(state, torch.get_rng_state())
        drawn.append(student.state())
    matrices = [name for name, value in drawn[0].items() if value.ndim > 1]
    assert len(matrices) > 10
    for name in matrices:
        assert torch.equal(drawn[0][name], drawn[1][name])
        assert not torch.equal(drawn[0][name], drawn[2][name])
        assert not torch.equal(drawn[0][name], before.state()[name])


@pytest.mark.parametrize("towers", [1, 2])
def test_without_unit_length_the_dot_product_is_compared_by_and_saved(
    tiny_student: Path, tmp_path: Path, towers: int
) -> None:
    """A student trained on raw products and exported with its Normalize would rank by other numbers than it learned."""
    from sentence_transformers import SentenceTransformer

    whole = Student.load(tiny_student, FP32)
    raw = compare_by(part_towers(whole) if towers == 2 else whole, "dot")
    assert raw.similarity == "dot" and len(raw.towers) == towers and raw.query_prompt == "query "
    lengths = np.linalg.norm(vectors(raw), axis=1)
    assert lengths.min() > 1.5 and lengths.std() > 0.01
    unit = vectors(Student.load(tiny_student, FP32))
    assert np.abs(vectors(raw) / lengths[:, None] - unit).max() < 1e-5
    raw.save(tmp_path / "raw")
    again = SentenceTransformer(str(tmp_path / "raw"), device="cpu")
    asked, read = again.encode_query(TEXTS), again.encode_document(TEXTS)
    assert again.similarity_fn_name == "dot" and np.abs(read - vectors(raw)).max() < 1e-5
    assert np.abs(again.similarity(asked, read).numpy() - asked @ read.T).max() < 1e-4
    back = compare_by(Student.load(tmp_path / "raw", FP32), "cosine")
    assert back.similarity == "cosine" and np.abs(vectors(back) - unit).max() < 1e-5


def test_a_recipe_makes_the_student_it_describes(tmp_path: Path) -> None:
    where, path = Where(home=tmp_path, device="cpu", precision="fp32", threads=1), make_student(tmp_path / "s", 7)
    plain = base_student(where, StudentSettings(model=str(path)))
    cut = base_student(where, StudentSettings(model=str(path), layers=[0]))
    anew = base_student(where, StudentSettings(model=str(path), init="random"))
    other = base_student(where, StudentSettings(model=str(path), init="random", seed=1))
    raw = base_student(where, StudentSettings(model=str(path), similarity="dot"))
    assert plain.path == path and len({each.fingerprint for each in (plain, cut, anew, other, raw)}) == 5
    assert Student.load(raw.path, FP32).similarity == "dot"
    assert Student.load(cut.path, FP32).model[0].auto_model.config.num_hidden_layers == 1
    assert base_student(where, StudentSettings(model=str(path), layers=[0])) == cut
