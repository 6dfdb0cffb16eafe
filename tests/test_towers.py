"""Students with a tower for queries and one for passages (a Router of sentence-transformers)."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Router
from tiny import make_student, sentences
from tiny_corpus import make_corpus
from training import KL, PLAN, by_weights, make_lists

from models.fingerprint import fingerprint_folder
from models.loop import train_student
from models.reshape import cut_layers
from models.runtime import Runtime
from models.size import size_of
from models.student import Student
from models.teacher import Teacher
from tasks.baseline.settings import StudentSettings
from tasks.baseline.systems import base_student
from tasks.encode import encode_corpus
from tasks.export.folder import save_student
from tasks.refs import StudentRef
from tasks.where import Where

FP32 = Runtime("cpu", "fp32", 1)
TEXTS = sentences(9, seed=3)
PROMPTS = {"query": "how ", "document": "the "}


def two(path: Path, query_seed: int = 1, passage_seed: int = 2) -> Path:
    """Write a folder as sentence-transformers' users do: two models behind a Router."""
    one, other = (
        SentenceTransformer(str(make_student(path.with_name(f"{path.name}-{seed}"), seed)), device="cpu")
        for seed in (query_seed, passage_seed)
    )
    router = Router.for_query_document(list(one.children())[:2], list(other.children())[:2])
    model = SentenceTransformer(modules=[router, one[2]], device="cpu", prompts=PROMPTS, similarity_fn_name="cosine")
    model.save_pretrained(str(path), create_model_card=False)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two(tmp_path_factory.mktemp("two") / "towers")


def assert_parity(student: Student, path: Path) -> None:
    theirs = SentenceTransformer(str(path), device="cpu")
    for ours, library in (
        (student.encode_queries(TEXTS).vectors, theirs.encode_query(TEXTS)),
        (student.encode_passages(TEXTS).vectors, theirs.encode_document(TEXTS)),
    ):
        assert np.abs(ours - library).max() <= 1e-5


def test_each_side_has_its_own_vectors_and_the_librarys(folder: Path) -> None:
    """Pitfall 32: queries through the passages' tower would be another model than the one that is served."""
    student = Student.load(folder, FP32)
    assert len(student.towers) == 2 and (student.query_prompt, student.passage_prompt) == ("how ", "the ")
    assert_parity(student, folder)
    student.query_prompt = student.passage_prompt = ""
    assert np.abs(student.encode_queries(TEXTS).vectors - student.encode_passages(TEXTS).vectors).max() > 0.1
    for side, tokens in (
        ("query", student.tokenize_queries(TEXTS)),
        ("passage", student.tokenize_passages(TEXTS)),
    ):
        encode = student.encode_queries if side == "query" else student.encode_passages
        assert np.abs(student.embed(tokens, side).detach().numpy() - encode(TEXTS).vectors).max() < 1e-5


@pytest.mark.parametrize(
    ("cache", "precision"),
    [
        (True, "fp32"),
        (False, "bf16"),
        pytest.param(False, "fp32", marks=pytest.mark.slow),
        pytest.param(True, "bf16", marks=pytest.mark.slow),
    ],
)
def test_both_towers_learn_and_what_is_saved_is_what_was_trained(
    folder: Path, tmp_path: Path, cache: bool, precision: str
) -> None:
    student = Student.load(folder, Runtime("cpu", precision, 1))  # type: ignore[arg-type]
    before = student.state()
    plan = replace(PLAN, terms=KL, cache=cache, patience=0)
    train_student(student, make_lists(student), plan, lambda s: by_weights(s), tmp_path / "state")
    student.load_state(student.state())
    moved = {name for name, value in student.state().items() if not torch.equal(value, before[name])}
    for route in ("query", "document"):
        assert sum(f"sub_modules.{route}." in name for name in moved) > 10, route
    student.save(tmp_path / "saved")
    exact = Student.load(tmp_path / "saved", FP32)
    assert_parity(exact, tmp_path / "saved")
    assert all(torch.equal(value, student.state()[name]) for name, value in exact.state().items())


def test_a_fingerprint_tells_the_towers_apart(folder: Path, tmp_path: Path) -> None:
    """Pitfall 1: vectors of one model served under the name of another."""
    swapped = two(tmp_path / "swapped", 2, 1)
    assert fingerprint_folder(folder) != fingerprint_folder(swapped)
    renamed = Path(shutil.copytree(folder, tmp_path / "renamed"))
    router = json.loads((renamed / "router_config.json").read_text())
    other = {"query": "document", "document": "query"}
    router["structure"] = {other[route]: names for route, names in router["structure"].items()}
    (renamed / "router_config.json").write_text(json.dumps(router))
    assert fingerprint_folder(renamed) != fingerprint_folder(folder)
    student = Student.load(folder, FP32)
    student.save(tmp_path / "again")
    assert fingerprint_folder(tmp_path / "again") == fingerprint_folder(folder)
    with torch.no_grad():
        next(student.tower["query"].first.parameters()).add_(0.1)
    student.save(tmp_path / "other")
    assert fingerprint_folder(tmp_path / "other") != fingerprint_folder(folder)
    one = size_of(tmp_path / "swapped-1")
    assert size_of(folder).dimension == one.dimension and 1.9 < size_of(folder).bytes / one.bytes < 2.1


def test_a_recipe_makes_two_towers_of_one_model(tiny_student: Path, tmp_path: Path) -> None:
    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1)
    single = base_student(where, StudentSettings(model=str(tiny_student)))
    parted = base_student(where, StudentSettings(model=str(tiny_student), towers=2, max_length=16, layers=[1]))
    student = Student.load(parted.path, FP32)
    assert parted.fingerprint != single.fingerprint and len(student.towers) == 2
    assert [tower.max_length for tower in student.towers] == [16, 16]
    assert [tower.first.auto_model.config.num_hidden_layers for tower in student.towers] == [1, 1]
    shared = Student.load(tiny_student, FP32, max_length=16)
    cut_layers(shared, [1])
    assert np.abs(student.encode_queries(TEXTS).vectors - shared.encode_queries(TEXTS).vectors).max() < 1e-5
    assert_parity(student, parted.path)
    again = base_student(where, StudentSettings(model=str(parted.path), towers=2))
    assert again.fingerprint == parted.fingerprint


def test_two_towers_are_encoded_and_exported_each_by_its_own(folder: Path, tmp_path: Path) -> None:
    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1)
    passages, queries = sentences(6, seed=1), {text: "train" for text in sentences(3, seed=2)}
    corpus = make_corpus(tmp_path / "artifacts", passages, queries, [])
    ref = StudentRef(system="base", fingerprint=fingerprint_folder(folder), path=folder)
    made = encode_corpus(where, corpus, ref)
    theirs = SentenceTransformer(str(folder), device="cpu")
    import polars as pl

    texts = pl.read_parquet(corpus.file("queries.parquet"))["text"].to_list()
    assert np.abs(np.load(made.file("queries.npy")) - theirs.encode_query(texts)).max() <= 1e-5
    assert save_student(ref, tmp_path / "exported", passages, list(queries)) <= 1e-5
    assert fingerprint_folder(tmp_path / "exported") == ref.fingerprint
    assert Teacher.from_encoder(folder, FP32, seed=0).labels == 1


def test_routers_that_cannot_be_students_are_refused(folder: Path, tmp_path: Path) -> None:
    model = SentenceTransformer(str(folder), device="cpu")
    parts = list(model[0].sub_modules["query"])
    other = Router({"question": parts, "answer": parts}, default_route="answer")
    SentenceTransformer(modules=[other, model[1]], device="cpu").save_pretrained(str(tmp_path / "a"))
    with pytest.raises(ValueError, match=r"routes \['answer', 'question'\] and 0 mappings; a student with two towers"):
        Student.load(tmp_path / "a", FP32)
