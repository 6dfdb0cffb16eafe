"""The teacher gives the raw logits that sentence-transformers gives, and never cuts a query."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import CrossEncoder
from tiny import make_student, make_teacher, sentences, tiny_tokenizer

from models.pairs import PairTokenizer
from models.runtime import Runtime
from models.student import Student
from models.teacher import NonFiniteScore, Teacher

EXACT = Runtime("cpu", "fp32", 1)
HALF = Runtime("cpu", "bf16", 1)
QUERIES = sentences(6, seed=4, longest=6)
PASSAGES = sentences(12, seed=5, longest=70)
PAIRS = [(query, passage) for query in QUERIES for passage in PASSAGES]


def raw(path: Path, pairs: list[tuple[str, str]]) -> np.ndarray:
    scores = CrossEncoder(str(path), device="cpu").predict(pairs, activation_fn=torch.nn.Identity())
    return scores if scores.ndim == 1 else scores[:, 1] - scores[:, 0]


@pytest.fixture(scope="module")
def teacher(tiny_teacher: Path) -> Teacher:
    return Teacher.load(tiny_teacher, EXACT)


def edit_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def test_logits_are_those_of_sentence_transformers_before_any_activation(tiny_teacher: Path, teacher: Teacher) -> None:
    """Logits and probabilities mixed pass or reject everything (pitfall 7)."""
    scores = teacher.score(PAIRS, 512)
    expected = raw(tiny_teacher, PAIRS)
    assert np.abs(scores.logits - expected).max() <= 1e-5
    assert scores.logits.dtype == np.float32 and np.ptp(scores.logits) > 0.5
    assert teacher.activation == "Sigmoid" and (scores.logits < 0).any()


def test_two_labels_are_the_second_minus_the_first(tmp_path: Path) -> None:
    """A two-label teacher read as one label ranks by 'not relevant' (pitfall 13)."""
    folder = make_teacher(tmp_path / "two", labels=2)
    scores = Teacher.load(folder, EXACT).score(PAIRS, 512)
    assert np.abs(scores.logits - raw(folder, PAIRS)).max() <= 1e-5


def test_more_than_two_labels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has 3 labels"):
        Teacher.load(make_teacher(tmp_path / "three", labels=3), EXACT)


def test_a_checkpoint_without_its_head_is_refused(tmp_path: Path, tiny_student: Path) -> None:
    """A randomly drawn head gives scores that look like scores (pitfall 13)."""
    with pytest.raises(ValueError, match=r"no classifier\.bias"):
        Teacher.load(tiny_student, EXACT)
    folder = make_teacher(tmp_path / "headless")
    edit_weights(folder, lambda tensors: tensors.pop("classifier.weight"))
    with pytest.raises(ValueError, match=r"no classifier\.weight"):
        Teacher.load(folder, EXACT)


def test_pickled_weights_are_refused(tiny_teacher: Path, tmp_path: Path) -> None:
    """Reading a pickle runs its code (pitfall 47)."""
    folder = Path(shutil.copytree(tiny_teacher, tmp_path / "pickled"))
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="pickle"):
        Teacher.load(folder, EXACT)


@pytest.fixture(scope="module")
def alone(teacher: Teacher) -> np.ndarray:
    """Logits of pairs that were scored one by one."""
    return np.concatenate([teacher.score([pair]).logits for pair in PAIRS])


@pytest.mark.parametrize("batch_tokens", [1, 100, 3000, None])
def test_batches_change_no_logit_and_no_order(teacher: Teacher, alone: np.ndarray, batch_tokens: int | None) -> None:
    ticks: list[int] = []
    scores = teacher.score(PAIRS, batch_tokens, ticks.append)
    assert np.abs(scores.logits - alone).max() <= 1e-5
    assert sum(ticks) == len(PAIRS)


def test_tokens_and_cut_passages_are_counted(teacher: Teacher) -> None:
    """[CLS] query [SEP] passage [SEP]: 3 + 2 + 4, and 64 where the passage does not fit (pitfall 14)."""
    scores = teacher.score([("red cat", "dog house tree river"), ("red cat", "dog " * 59), ("red cat", "dog " * 60)])
    assert scores.n_tokens.tolist() == [9, 64, 64] and scores.n_tokens.dtype == np.int32
    assert scores.truncated.tolist() == [False, False, True]


def test_only_the_passage_is_cut(teacher: Teacher) -> None:
    """longest_first would cut both; the query is never cut silently (pitfall 14)."""
    query = "red " * 50
    kept = teacher.score([(query, "dog " * 30), (query, "dog " * 11), (query, "dog " * 10)])
    assert kept.truncated.tolist() == [True, False, False]
    assert kept.logits[0] == pytest.approx(kept.logits[1], abs=1e-5)
    assert abs(kept.logits[1] - kept.logits[2]) > 1e-4


@pytest.mark.parametrize("words", [61, 62, 90])
def test_a_query_that_leaves_no_room_is_named(teacher: Teacher, words: int) -> None:
    """Cutting it would score another question (pitfall 14)."""
    with pytest.raises(ValueError, match=f"'blue red red.* {words + 3} tokens.*reads 64"):
        teacher.score([("red", "dog"), ("blue " + "red " * (words - 1), "dog")])
    assert teacher.score([("red " * 60, "dog")]).n_tokens.tolist() == [64]


def test_a_number_that_is_none_is_refused_with_its_pair(tiny_teacher: Path, tmp_path: Path) -> None:
    """Nothing is stored for NaN or infinity, which would outrank or hide everything (pitfall 11)."""
    folder = Path(shutil.copytree(tiny_teacher, tmp_path / "broken"))
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]

    def spoil(tensors: dict[str, torch.Tensor]) -> None:
        tensors["bert.embeddings.word_embeddings.weight"][vocabulary["river"]] = float("nan")

    edit_weights(folder, spoil)
    broken = Teacher.load(folder, EXACT)
    assert np.isfinite(broken.score([("red", "dog"), ("cat", "tree")]).logits).all()
    with pytest.raises(NonFiniteScore, match="nan for query 'cat' and passage 'a river'"):
        broken.score([("red", "dog"), ("cat", "a river"), ("cat", "tree")])


def test_no_pairs_give_no_scores(teacher: Teacher) -> None:
    scores = teacher.score([])
    assert (len(scores.logits), len(scores.n_tokens), len(scores.truncated)) == (0, 0, 0)


def test_bf16_logits_stay_close_and_are_not_rounded_to_bf16(teacher: Teacher, tiny_teacher: Path) -> None:
    """A head in bf16 ties passages: its steps are 0.03 wide at 5."""
    exact, half = teacher.score(PAIRS).logits, Teacher.load(tiny_teacher, HALF).score(PAIRS).logits
    assert 0 < np.abs(half - exact).max() < 0.1
    rounded = torch.from_numpy(half).bfloat16().float().numpy()
    assert (half != rounded).mean() > 0.9


def test_training_reads_the_inputs_that_scoring_reads(teacher: Teacher) -> None:
    made = teacher.forward(teacher.assemble(PAIRS))
    assert made.dtype == torch.float32 and made.requires_grad
    assert np.abs(made.detach().numpy() - teacher.score(PAIRS).logits).max() <= 1e-5


def test_bf16_scoring_follows_every_training_step(tiny_teacher: Path) -> None:
    teacher = Teacher.load(tiny_teacher, HALF)
    before = teacher.score(PAIRS).logits
    teacher.train()
    optimizer = torch.optim.AdamW(teacher.parameters(), lr=0.01)
    teacher.forward(teacher.assemble(PAIRS[:4])).sum().backward()
    optimizer.step()
    assert np.abs(teacher.score(PAIRS).logits - before).max() > 0.05
    assert teacher.model.training


def test_a_saved_teacher_gives_the_same_logits_anywhere(tiny_teacher: Path, tmp_path: Path) -> None:
    teacher = Teacher.load(tiny_teacher, EXACT, max_length=24)
    with torch.no_grad():
        for weight in teacher.parameters():
            weight.mul_(1.1)
    teacher.save(tmp_path / "saved")
    short = [(query, passage) for query, passage in PAIRS if len(query) < len(passage)]
    scores = teacher.score(short)
    assert scores.truncated.any()
    assert np.abs(scores.logits - raw(tmp_path / "saved", short)).max() <= 1e-5
    again = Teacher.load(tmp_path / "saved", EXACT)
    assert np.array_equal(again.score(short).logits, scores.logits) and again.max_length == 24


def test_a_teacher_starts_from_a_students_transformer_with_a_head_from_the_seed(
    tiny_student: Path, tmp_path: Path
) -> None:
    one, same, other = (Teacher.from_encoder(tiny_student, EXACT, seed) for seed in (3, 3, 4))
    assert one.labels == 1
    logits = [teacher.score(PAIRS).logits for teacher in (one, same, other)]
    assert np.array_equal(logits[0], logits[1]) and np.abs(logits[0] - logits[2]).max() > 1e-3
    body, start = one.state(), Student.load(tiny_student, EXACT).state()
    shared = [name for name in start if name.startswith("0.model.encoder")]
    assert len(shared) > 20
    assert all(torch.equal(body[name.replace("0.model.", "0.model.bert.")], start[name]) for name in shared)
    one.save(tmp_path / "taught")
    assert np.array_equal(Teacher.load(tmp_path / "taught", EXACT).score(PAIRS).logits, logits[0])


def test_drawing_a_head_leaves_everybody_elses_random_numbers_alone(tiny_student: Path) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    Teacher.from_encoder(tiny_student, EXACT, 1)
    assert torch.equal(torch.rand(3), expected)


def test_each_text_is_tokenised_once_and_joined_as_the_tokenizer_does(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = PairTokenizer(tiny_tokenizer(), 24)
    seen: list[str] = []
    own = tokenizer._ids
    monkeypatch.setattr(tokenizer, "_ids", lambda texts: (seen.extend(texts), own(texts))[1])
    prepared = tokenizer.prepare(PAIRS)
    assert sorted(seen) == sorted({*QUERIES, *PASSAGES})
    rows = tokenizer._encode(PAIRS)
    inputs = prepared.inputs(range(len(PAIRS)))
    assert all(np.array_equal(one.ids, row.ids) for one, row in zip(inputs, rows, strict=True))
    assert all(np.array_equal(one.types, row.types) for one, row in zip(inputs, rows, strict=True))
    assert prepared.lengths.tolist() == [len(row.ids) for row in rows]
    assert any(prepared.truncated) and not all(prepared.truncated)


def test_a_tokenizer_that_joins_otherwise_is_asked_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids put together by ourselves count only where they are the tokenizer's own."""
    tokenizer, honest = PairTokenizer(tiny_tokenizer(), 24), PairTokenizer(tiny_tokenizer(), 24).prepare(PAIRS)
    own = tokenizer._ids
    monkeypatch.setattr(tokenizer, "_ids", lambda texts: [row[::-1] for row in own(texts)])
    prepared = tokenizer.prepare(PAIRS)
    assert prepared.lengths.tolist() == honest.lengths.tolist()
    assert prepared.truncated.tolist() == honest.truncated.tolist()
    for one, other in zip(prepared.inputs(range(72)), honest.inputs(range(72)), strict=True):
        assert np.array_equal(one.ids, other.ids) and np.array_equal(one.types, other.types)
    with pytest.raises(ValueError, match="no room is left"):
        tokenizer.prepare([("red " * 30, "dog")])


def test_a_teacher_made_from_another_student_has_its_weights(tmp_path: Path, tiny_student: Path) -> None:
    other = make_student(tmp_path / "other", seed=9)
    one, two = (Teacher.from_encoder(folder, EXACT, 3) for folder in (tiny_student, other))
    assert np.abs(one.score(PAIRS).logits - two.score(PAIRS).logits).max() > 1e-2
