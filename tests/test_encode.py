"""Encoding writes the vectors that serving would give, row for row, under a name that follows the student."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny import make_student, sentences
from tiny_corpus import make_corpus

from tasks.artifacts import Artifact
from tasks.encode import encode_corpus
from tasks.refs import StudentRef
from tasks.where import Where

PASSAGES = [*sentences(12, seed=1, shortest=3, longest=15), " ".join(["the cat and the dog"] * 40)]
QUERIES = {text: "train" for text in sentences(5, seed=2, longest=6)}


def where(home: Path) -> Where:
    return Where(home=home, device="cpu", precision="fp32", threads=1, batch_tokens=128)


def corpus_of(home: Path, passages: list[str]) -> Artifact:
    return make_corpus(where(home).artifacts_path, passages, QUERIES, [])


def test_vectors_are_those_of_sentence_transformers_with_prompts(tmp_path: Path, tiny_student: Path) -> None:
    """Pitfall 32: the query's prompt applied in training and not when mining."""
    from sentence_transformers import SentenceTransformer

    corpus = corpus_of(tmp_path, PASSAGES)
    made = encode_corpus(where(tmp_path), corpus, StudentRef(system="base", fingerprint="one", path=tiny_student))
    model = SentenceTransformer(str(tiny_student), device="cpu")
    for name, encode in (("queries", model.encode_query), ("passages", model.encode_document)):
        texts = pl.read_parquet(corpus.file(f"{name}.parquet"))["text"].to_list()
        vectors = np.load(made.file(f"{name}.npy"))
        assert vectors.dtype == np.float32 and vectors.shape == (len(texts), 32)
        np.testing.assert_allclose(vectors, encode(texts), atol=1e-5)


def test_facts_tell_similarity_tokens_and_truncation(tmp_path: Path, tiny_student: Path) -> None:
    """Pitfall 14: texts that were cut are counted."""
    student = StudentRef(system="base", fingerprint="one", path=tiny_student)
    facts = encode_corpus(where(tmp_path), corpus_of(tmp_path, PASSAGES), student).facts
    assert facts["similarity"] == "cosine"
    assert facts["truncated"] == {"passages": 1, "queries": 0}
    assert facts["truncated_share"] == pytest.approx(1 / 13)
    assert facts["tokens"] > len(PASSAGES) * 3


def test_another_student_or_another_text_is_encoded_again(tmp_path: Path, tiny_student: Path) -> None:
    """Pitfall 1: vectors kept by the model's name; after training, the first model's negatives are mined again."""
    other = make_student(tmp_path / "other", seed=9)
    corpus, edited = corpus_of(tmp_path, PASSAGES), corpus_of(tmp_path, [*PASSAGES[1:], "the new one"])
    made = [
        encode_corpus(where(tmp_path), texts, StudentRef(system="base", fingerprint=name, path=path))
        for texts, name, path in ((corpus, "one", tiny_student), (corpus, "two", other), (edited, "one", tiny_student))
    ]
    again = encode_corpus(where(tmp_path), corpus, StudentRef(system="round-1", fingerprint="one", path=tiny_student))
    assert len({artifact.fingerprint for artifact in made}) == 3
    assert again == made[0]
    first, second = (np.load(artifact.file("passages.npy")) for artifact in made[:2])
    assert not np.allclose(first, second, atol=1e-3)


def test_of_a_grown_corpus_only_new_texts_are_encoded(tmp_path: Path, tiny_student: Path) -> None:
    student = StudentRef(system="base", fingerprint="one", path=tiny_student)
    encode_corpus(where(tmp_path), corpus_of(tmp_path, PASSAGES), student)
    grown = corpus_of(tmp_path, [*PASSAGES[2:], "the new one", "how to read a list"])
    made = encode_corpus(where(tmp_path), grown, student)
    assert (made.facts["passages_encoded"], made.facts["queries_encoded"]) == (2, 0)
    assert made.facts["passages"] == len(PASSAGES) and made.facts["truncated"]["passages"] == 1
    elsewhere = tmp_path / "elsewhere"
    fresh = encode_corpus(
        where(elsewhere), corpus_of(elsewhere, [*PASSAGES[2:], "the new one", "how to read a list"]), student
    )
    assert fresh.facts["passages_encoded"] == len(PASSAGES)
    for name in ("passages.npy", "queries.npy"):
        np.testing.assert_allclose(np.load(made.file(name)), np.load(fresh.file(name)), atol=1e-6)


def test_vectors_of_another_precision_or_student_are_not_taken_over(tmp_path: Path, tiny_student: Path) -> None:
    """Vectors in bf16 among others in fp32 change which of two near passages is found first."""
    student = StudentRef(system="base", fingerprint="one", path=tiny_student)
    coarse = where(tmp_path).model_copy(update={"precision": "bf16"})
    encode_corpus(coarse, corpus_of(tmp_path, PASSAGES), student)
    grown = corpus_of(tmp_path, [*PASSAGES, "the new one"])
    assert encode_corpus(where(tmp_path), grown, student).facts["passages_encoded"] == len(PASSAGES) + 1
    larger = corpus_of(tmp_path, [*PASSAGES, "the new one", "and another"])
    other = student.model_copy(update={"fingerprint": "two"})
    assert encode_corpus(where(tmp_path), larger, other).facts["passages_encoded"] == len(PASSAGES) + 2
    assert encode_corpus(where(tmp_path), larger, student).facts["passages_encoded"] == 1


def test_a_vector_that_is_not_finite_names_the_text(tmp_path: Path) -> None:
    """A NaN vector is found by no search, and nobody would notice."""
    import torch
    from safetensors.torch import load_file, save_file

    broken = make_student(tmp_path / "broken", seed=3)
    weights = load_file(broken / "model.safetensors")
    name = next(key for key in weights if key.endswith("layer.1.output.LayerNorm.weight"))
    weights[name] = torch.full_like(weights[name], float("nan"))
    save_file(weights, broken / "model.safetensors", {"format": "pt"})
    student = StudentRef(system="base", fingerprint="broken", path=broken)
    corpus = corpus_of(tmp_path, PASSAGES)
    first = pl.read_parquet(corpus.file("passages.parquet"))["text"][0]
    with pytest.raises(ValueError, match="13 passages hold numbers that aren't finite") as caught:
        encode_corpus(where(tmp_path), corpus, student)
    assert repr(first[:80]) in str(caught.value)
    assert not list((where(tmp_path).artifacts_path / "encode").glob("*"))
