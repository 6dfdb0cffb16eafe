"""The student gives the vectors that sentence-transformers gives, whatever the batches."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from tiny import make_student, sentences

import models.student
from models.runtime import Runtime
from models.student import Student

EXACT = Runtime("cpu", "fp32", 1)
HALF = Runtime("cpu", "bf16", 1)
TEXTS = sentences(40, seed=3, longest=80)


@pytest.fixture(scope="module")
def student(tiny_student: Path) -> Student:
    return Student.load(tiny_student, EXACT)


@pytest.fixture(scope="module")
def reference(tiny_student: Path) -> SentenceTransformer:
    return SentenceTransformer(str(tiny_student), device="cpu")


def test_vectors_are_those_of_sentence_transformers(student: Student, reference: SentenceTransformer) -> None:
    queries, passages = student.encode_queries(TEXTS, 256), student.encode_passages(TEXTS, 256)
    assert np.abs(queries.vectors - reference.encode_query(TEXTS)).max() <= 1e-5
    assert np.abs(passages.vectors - reference.encode_document(TEXTS)).max() <= 1e-5
    assert np.abs(queries.vectors - passages.vectors).max() > 1e-2  # the prompts differ, and are seen


@pytest.mark.parametrize("batch_tokens", [1, 90, 1000, None])
def test_batches_change_no_vector_and_no_order(student: Student, batch_tokens: int | None) -> None:
    """A row that belongs to another text is the quietest of faults (pitfall 6)."""
    alone = np.concatenate([student.encode_passages([text], 64).vectors for text in TEXTS])
    together = student.encode_passages(TEXTS, batch_tokens)
    assert together.vectors.dtype == np.float32 and together.vectors.shape == (len(TEXTS), student.dimension)
    assert np.abs(together.vectors - alone).max() <= 1e-5


def test_a_corpus_longer_than_a_window_keeps_its_order(student: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = student.encode_passages(TEXTS, 300)
    monkeypatch.setattr(models.student, "WINDOW", 7)
    parts = student.encode_passages(TEXTS, 300)
    assert np.abs(parts.vectors - whole.vectors).max() <= 1e-6
    assert (parts.n_tokens, parts.truncated) == (whole.n_tokens, whole.truncated)


def test_tokens_and_cut_texts_are_counted(student: Student) -> None:
    # One special token at each end and the prompt: 'query' in front of 3 and of 90 words.
    encoded = student.encode_queries(["red cat dog", "red " * 90], 512)
    assert (encoded.n_tokens, encoded.truncated) == (2 + 1 + 3 + 64, 1)
    assert [len(row) for row in student.tokenize_queries(["red cat dog", "red " * 90])] == [6, 64]
    none = student.encode_queries([], 512)
    assert none.vectors.shape == (0, 32) and (none.n_tokens, none.truncated) == (0, 0)


def test_progress_adds_up_to_the_texts(student: Student) -> None:
    ticks: list[int] = []
    student.encode_passages(TEXTS, 128, ticks.append)
    assert sum(ticks) == len(TEXTS) and len(ticks) > 3


def test_training_reads_the_very_text_that_inference_reads(student: Student) -> None:
    """A prompt in training and none in mining teaches one model and serves another (pitfall 32)."""
    student.eval()
    made = student.embed(student.tokenize_queries(TEXTS[:9])).detach().numpy()
    assert np.abs(made - student.encode_queries(TEXTS[:9], 512).vectors).max() <= 1e-5
    made = student.embed(student.tokenize_passages(TEXTS[:9])).detach().numpy()
    assert np.abs(made - student.encode_passages(TEXTS[:9], 512).vectors).max() <= 1e-5


def test_embedding_reaches_every_weight_that_matters_with_a_gradient(tiny_student: Path) -> None:
    for runtime in (EXACT, HALF):
        student = Student.load(tiny_student, runtime)
        tokens = student.tokenize_passages(TEXTS[:4])
        vectors = student.embed(tokens)
        assert vectors.dtype == torch.float32 and vectors.shape == (4, 32)
        student.scores(vectors[:2], vectors[2:]).sum().backward()
        without = [name for name, weight in student.named_parameters() if weight.grad is None]
        assert without and all("pooler" in name for name in without)  # mean pooling does not use BERT's own pooler


def test_scores_are_the_inner_products_of_all_with_all(student: Student) -> None:
    queries, passages = torch.eye(2, 32), torch.arange(96.0).reshape(3, 32)
    assert student.scores(queries, passages).tolist() == [[0.0, 32.0, 64.0], [1.0, 33.0, 65.0]]


def test_a_saved_student_gives_the_same_vectors_anywhere(tiny_student: Path, tmp_path: Path) -> None:
    """The exported model carries prompts, pooling and similarity (pitfalls 28 and 32)."""
    student = Student.load(tiny_student, EXACT, max_length=20, prompts={"query": "how ", "passage": "what "})
    with torch.no_grad():
        next(student.parameters()).mul_(1.5)
    student.save(tmp_path / "saved")
    plain = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    for ours, theirs in (
        (student.encode_queries(TEXTS, 256), plain.encode_query(TEXTS)),
        (student.encode_passages(TEXTS, 256), plain.encode_document(TEXTS)),
    ):
        assert ours.truncated > 5
        assert np.abs(ours.vectors - theirs).max() <= 1e-5
    again = Student.load(tmp_path / "saved", EXACT)
    assert (again.query_prompt, again.passage_prompt, again.max_length) == ("how ", "what ", 20)
    assert not list((tmp_path / "saved").rglob("*.bin"))


def test_a_passage_prompt_under_another_name_is_found_and_kept(tmp_path: Path) -> None:
    """sentence-transformers writes an empty 'document' prompt beside an author's 'passage' prompt (pitfall 32)."""
    folder = make_student(tmp_path / "named", prompts={"query": "query ", "passage": "passage "})
    student = Student.load(folder, EXACT)
    assert student.passage_text("red") == "passage red"
    student.save(tmp_path / "saved")
    plain = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert np.abs(plain.encode_document(TEXTS) - student.encode_passages(TEXTS).vectors).max() <= 1e-5
    assert Student.load(folder, EXACT, prompts={"passage": ""}).passage_text("red") == "red"
    with pytest.raises(ValueError, match="'document'"):
        Student.load(folder, EXACT, prompts={"document": ""})


@pytest.mark.parametrize(("similarity", "normalize"), [("cosine", False), ("dot", False), ("dot", True)])
def test_similarity_is_the_models_own(tmp_path: Path, similarity: str, normalize: bool) -> None:
    """Cosine students give unit vectors, so that mining by inner product ranks as the model does (pitfall 12)."""
    student = Student.load(make_student(tmp_path / "s", similarity=similarity, normalize=normalize), EXACT)
    assert student.similarity == similarity
    norms = np.linalg.norm(student.encode_passages(TEXTS, 256).vectors, axis=1)
    assert np.allclose(norms, 1.0, atol=1e-5) == (similarity == "cosine" or normalize)
    student.save(tmp_path / "saved")
    plain = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert plain.similarity_fn_name == similarity
    assert np.abs(plain.encode(TEXTS) - student.encode_passages(TEXTS).vectors).max() <= 1e-5


def test_bf16_vectors_agree_with_fp32(student: Student, tiny_student: Path) -> None:
    half = Student.load(tiny_student, HALF).encode_passages(TEXTS, 256).vectors
    exact = student.encode_passages(TEXTS, 256).vectors
    assert np.abs(half - exact).max() > 0
    assert (half * exact).sum(axis=1).min() > 0.9995


def test_bf16_inference_follows_every_training_step(tiny_student: Path) -> None:
    """A copy of old weights would give the re-mined negatives of the first model (pitfall 1)."""
    student = Student.load(tiny_student, HALF)
    before, state = student.encode_passages(TEXTS).vectors, student.state()
    student.train()
    optimizer = torch.optim.AdamW(student.parameters(), lr=0.01)
    student.embed(student.tokenize_passages(TEXTS[:4])).sum().backward()
    optimizer.step()
    stepped = student.encode_passages(TEXTS).vectors
    assert student.model.training
    assert np.abs(stepped - before).max() > 0.01
    optimizer.step()
    assert np.abs(student.encode_passages(TEXTS).vectors - stepped).max() > 0.01
    student.load_state(state)
    assert np.array_equal(student.encode_passages(TEXTS).vectors, before)


def test_dropout_is_off_in_inference_and_on_in_training(tiny_student: Path) -> None:
    student = Student.load(tiny_student, EXACT)
    tokens = student.tokenize_passages(TEXTS[:4])
    student.train()
    one, other = student.embed(tokens), student.embed(tokens)
    assert not torch.equal(one, other)
    assert np.array_equal(student.encode_passages(TEXTS).vectors, student.encode_passages(TEXTS).vectors)
    student.eval()
    assert torch.equal(student.embed(tokens), student.embed(tokens))


def test_state_is_a_copy_and_comes_back_whole(tiny_student: Path) -> None:
    student = Student.load(tiny_student, EXACT)
    state = student.state()
    with torch.no_grad():
        for weight in student.parameters():
            weight.zero_()
    assert any(value.abs().sum() > 0 for value in state.values())
    student.load_state(state)
    assert all(torch.equal(value, state[name]) for name, value in student.state().items())
    with pytest.raises(RuntimeError, match="Missing key"):
        student.load_state({})


def test_code_inside_a_folder_is_not_run_without_trust(tiny_student: Path, tmp_path: Path) -> None:
    """A switch that is parsed and ignored is worse than none (pitfall 47)."""
    folder = Path(shutil.copytree(tiny_student, tmp_path / "custom"))
    (folder / "own_code.py").write_text("raise RuntimeError('this code ran')\n")
    listing = json.loads((folder / "modules.json").read_text())
    listing[2]["type"] = "own_code.Normalize"
    (folder / "modules.json").write_text(json.dumps(listing))
    with pytest.raises(ValueError, match="trust_remote_code"):
        Student.load(folder, EXACT)


def test_models_that_cannot_be_students_are_refused(tmp_path: Path, tiny_student: Path) -> None:
    with pytest.raises(ValueError, match="compares vectors by euclidean"):
        Student.load(make_student(tmp_path / "far", similarity="euclidean"), EXACT)
    model = SentenceTransformer(str(tiny_student), device="cpu", truncate_dim=8)
    model.save_pretrained(str(tmp_path / "short"))
    with pytest.raises(ValueError, match="cuts vectors to 8"):
        Student.load(tmp_path / "short", EXACT)


def test_padding_on_the_left_gives_the_vectors_of_sentence_transformers(tiny_student: Path) -> None:
    student, plain = Student.load(tiny_student, EXACT), SentenceTransformer(str(tiny_student), device="cpu")
    student.model.tokenizer.padding_side = plain.tokenizer.padding_side = "left"
    batch = ["red cat", "a long river of blue houses"]
    ours = student.embed(student.tokenize_passages(batch)).detach().numpy()
    assert np.abs(ours - plain.encode_document(batch)).max() <= 1e-5
    assert (
        np.abs(ours[0] - student.encode_passages(batch[:1]).vectors[0]).max() > 1e-3
    )  # positions moved: it was padded
