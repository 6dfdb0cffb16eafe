"""Inputs longer than the positions that a model has are refused before any work, and no shorter ones are."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import make_language_teacher, sentences

from models.refusals import refuse_beyond_positions
from models.runtime import Runtime
from models.student import Student
from models.teacher import Teacher

EXACT = Runtime("cpu", "fp32", 1)
SHAPE: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 40}
LONG = " ".join(sentences(20, seed=3))


def architectures() -> list[tuple[Any, int]]:
    """Models, and how many tokens they read: BERT counts positions from 0, RoBERTa and OPT from 2."""
    from transformers import BertConfig, BertModel, OPTConfig, OPTModel, RobertaConfig, RobertaModel

    bert = BertModel(BertConfig(max_position_embeddings=20, intermediate_size=32, **SHAPE))
    roberta = RobertaModel(RobertaConfig(max_position_embeddings=22, intermediate_size=32, pad_token_id=1, **SHAPE))
    opt = OPTModel(OPTConfig(max_position_embeddings=20, ffn_dim=32, word_embed_proj_dim=32, **SHAPE))
    return [(bert, 20), (roberta, 20), (opt, 20)]


@pytest.mark.parametrize("number", range(3))
def test_positions_are_counted_as_the_model_counts_them(number: int) -> None:
    """One position too many is a failure in the midst of a shard; one too few cuts texts that could be read."""
    model, places = architectures()[number]
    ids = torch.full((1, places + 1), 5)
    model.eval()(input_ids=ids[:, :places], attention_mask=torch.ones(1, places))
    with pytest.raises((IndexError, RuntimeError)):
        model(input_ids=ids, attention_mask=torch.ones(1, places + 1))
    refuse_beyond_positions(Path("here"), model, places)
    with pytest.raises(ValueError, match=f"here: inputs may have 21 tokens, and the model has {places} positions"):
        refuse_beyond_positions(Path("here"), model, places + 1)


def test_a_teacher_with_too_few_positions_is_refused_when_it_is_loaded(tiny_teacher: Path) -> None:
    with pytest.raises(ValueError, match=r"inputs may have 65 tokens, and the model has 64 .* max_length = 64 or less"):
        Teacher.load(tiny_teacher, EXACT, max_length=65)
    scores = Teacher.load(tiny_teacher, EXACT, max_length=64).score([("a query", LONG)])
    assert scores.n_tokens.tolist() == [64] and scores.truncated.all()


def test_a_student_with_too_few_positions_is_refused_when_it_is_loaded(tiny_student: Path) -> None:
    with pytest.raises(ValueError, match=r"inputs may have 100 tokens, and the model has 64"):
        Student.load(tiny_student, EXACT, max_length=100)


def test_positions_that_are_computed_have_no_end(tmp_path: Path) -> None:
    folder = make_language_teacher(tmp_path / "judge", max_length=160)
    scores = Teacher.load(folder, EXACT, max_length=400).score([("how to read a file", LONG)])
    assert scores.n_tokens[0] > 160
