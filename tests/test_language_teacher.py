"""A language model that answers yes or no is a teacher like any other: its logit, its instructions, its limits."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import CrossEncoder
from tiny import CHAT, make_language_teacher, make_teacher, sentences

from models.fingerprint import fingerprint_folder
from models.half import half_copy
from models.runtime import Runtime
from models.teacher import Teacher

EXACT = Runtime("cpu", "fp32", 1)
HALF = Runtime("cpu", "bf16", 1)
QUERIES = sentences(6, seed=4, longest=6)
PASSAGES = sentences(12, seed=5, shortest=3, longest=200)
PAIRS = [(query, passage) for query in QUERIES for passage in PASSAGES]
# The passage before the query: what follows the passage is part of what is asked.
TURNED = CHAT.replace("<Document>", "<D>").replace("<Query>", "<Document>").replace("<D>", "<Query>")
TURNED = TURNED.replace('"query"', '"d"').replace('"document"', '"query"').replace('"d"', '"document"')


def raw(path: Path, pairs: list[tuple[str, str]]) -> np.ndarray:
    return CrossEncoder(str(path), device="cpu").predict(pairs, activation_fn=torch.nn.Identity())


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("language")
    return {
        "chat": make_language_teacher(root / "chat"),
        "told": make_language_teacher(root / "told", prompt="Find code"),
        "plain": make_language_teacher(root / "plain", chat=None),
        "plain told": make_language_teacher(root / "plain-told", chat=None, prompt="Find code "),
    }


@pytest.mark.parametrize("kind", ["chat", "told", "plain", "plain told"])
def test_logits_are_yes_minus_no_as_sentence_transformers_gives_them(folders: dict[str, Path], kind: str) -> None:
    """Pitfalls 7 and 14: another instruction, another cut or a lost ending is another teacher."""
    teacher = Teacher.load(folders[kind], EXACT)
    scores = teacher.score(PAIRS, 700)
    assert np.abs(scores.logits - raw(folders[kind], PAIRS)).max() <= 2e-5
    assert np.ptp(scores.logits) > 0.5 and (np.abs(scores.logits) > 1.05).any()  # no probabilities
    assert scores.truncated.any() and not scores.truncated.all()
    assert scores.n_tokens.max() == 160 and teacher.labels == 1 and teacher.activation == "Sigmoid"


def test_the_logit_is_the_difference_of_two_words(folders: dict[str, Path]) -> None:
    """Worked without our code or the library's: the answer's logits of the last token."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folders["chat"])
    model = AutoModelForCausalLM.from_pretrained(folders["chat"])
    query, passage = PAIRS[0]
    messages = [{"role": "query", "content": query}, {"role": "document", "content": passage}]
    ids = tokenizer(tokenizer.apply_chat_template(messages, tokenize=False), return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        last = model(ids).logits[0, -1]
    yes, no = tokenizer.convert_tokens_to_ids(["yes", "no"])
    made = Teacher.load(folders["chat"], EXACT).score([PAIRS[0]])
    assert made.logits[0] == pytest.approx(float(last[yes] - last[no]), abs=1e-5)
    assert made.n_tokens.tolist() == [ids.shape[1]]


def test_instructions_change_the_logits(folders: dict[str, Path]) -> None:
    """A prompt that the folder brings and nobody reads makes another model of it."""
    for bare, told in (("chat", "told"), ("plain", "plain told")):
        one, other = (Teacher.load(folders[kind], EXACT).score(PAIRS[:4]) for kind in (bare, told))
        assert np.abs(one.logits - other.logits).min() > 1e-4


def test_a_prompt_of_an_encoder_is_read_too(tmp_path: Path) -> None:
    folder = make_teacher(tmp_path / "prompted", seed=3)
    about = json.loads((folder / "config_sentence_transformers.json").read_text())
    about |= {"prompts": {"ask": "how to "}, "default_prompt_name": "ask"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(about))
    short = [(query, passage[:30]) for query, passage in PAIRS]
    assert np.abs(Teacher.load(folder, EXACT).score(short).logits - raw(folder, short)).max() <= 1e-5


@pytest.mark.parametrize("batch_tokens", [1, 300, None])
def test_batches_change_no_logit(folders: dict[str, Path], batch_tokens: int | None) -> None:
    """Padding on the left must not move a score."""
    teacher = Teacher.load(folders["chat"], EXACT)
    alone = np.concatenate([teacher.score([pair]).logits for pair in PAIRS[:24]])
    assert np.abs(teacher.score(PAIRS[:24], batch_tokens).logits - alone).max() <= 2e-5


@pytest.mark.parametrize("turned", [False, True])
def test_only_the_passage_is_cut(tmp_path: Path, turned: bool) -> None:
    """Pitfall 14: neither the query nor the ending that the answer hangs on, wherever the template puts them."""
    teacher = Teacher.load(make_language_teacher(tmp_path / "t", chat=TURNED if turned else CHAT), EXACT)
    query, passage = QUERIES[0], "red dog " * 200
    (whole,), (cut,) = teacher.pairs.read([(query, passage)]), teacher.assemble([(query, passage)])
    (short,) = teacher.assemble([(query, "red")])
    assert len(whole.ids) > 400 and len(cut.ids) == 160
    text = teacher.model.tokenizer.decode(cut.ids)
    assert text.index("<Document>" if not turned else "<Query>") > 0 and query in text
    assert text.endswith("answer: ") and text.startswith("<|start|>Is the document")
    assert text.count("red dog") > 10 and cut.ids[-4:].tolist() == short.ids[-4:].tolist()
    assert teacher.score([(query, passage)]).truncated.tolist() == [True]


def test_a_query_that_leaves_no_room_is_named(folders: dict[str, Path]) -> None:
    """Pitfall 14: the library would cut it without a word."""
    teacher = Teacher.load(folders["chat"], EXACT)
    with pytest.raises(ValueError, match=r"the query 'blue .* tokens with what is put around it.* reads 160 in all"):
        teacher.score([("red", "dog"), ("blue " + "zq " * 120, "dog")])


def test_bf16_keeps_the_answer_in_float32(folders: dict[str, Path]) -> None:
    """Logits of a vocabulary in bf16 have steps of 0.06 at 16; the embeddings that share the weight are bf16."""
    teacher = Teacher.load(folders["chat"], EXACT)
    kinds = {name: weight.dtype for name, weight in half_copy(teacher.model[0]).named_parameters()}
    assert kinds["model.lm_head.weight"] == torch.float32
    assert kinds["model.model.embed_tokens.weight"] == torch.bfloat16
    exact, half = teacher.score(PAIRS).logits, Teacher.load(folders["chat"], HALF).score(PAIRS).logits
    assert 0 < np.abs(half - exact).max() < 0.2 * np.ptp(exact)
    assert (half != torch.from_numpy(half).bfloat16().float().numpy()).mean() > 0.9


def test_a_saved_language_model_gives_the_same_logits(folders: dict[str, Path], tmp_path: Path) -> None:
    teacher = Teacher.load(folders["told"], EXACT)
    teacher.save(tmp_path / "again")
    again = Teacher.load(tmp_path / "again", EXACT).score(PAIRS)
    assert np.array_equal(again.logits, teacher.score(PAIRS).logits)


def test_the_template_and_the_words_are_part_of_what_a_model_is(folders: dict[str, Path], tmp_path: Path) -> None:
    """Pitfall 1: a changed instruction under an old fingerprint serves scores of another question."""
    prints = {fingerprint_folder(path) for path in folders.values()}
    folder = Path(shutil.copytree(folders["chat"], tmp_path / "edited"))
    (template,) = folder.glob("chat_template.jinja")
    template.write_text(template.read_text().replace("an answer", "a question"))
    assert len(prints | {fingerprint_folder(folder)}) == 5


def test_a_template_without_a_place_for_both_is_refused(tmp_path: Path) -> None:
    folder = make_language_teacher(tmp_path / "t")
    (folder / "chat_template.jinja").write_text(
        "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"
    )
    with pytest.raises(ValueError, match="cannot carry a 'query'/'document' pair"):
        Teacher.load(folder, EXACT)


def test_a_language_model_without_the_words_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    """Pitfall 13: yes minus yes is 0 for every pair."""
    folder = Path(shutil.copytree(folders["chat"], tmp_path / "mute"))
    config = next(folder.glob("1_*/config.json"))
    about = json.loads(config.read_text())
    config.write_text(json.dumps({**about, "false_token_id": about["true_token_id"]}))
    with pytest.raises(ValueError, match="the tokens for yes and no are the same, 'yes', so every score would be 0"):
        Teacher.load(folder, EXACT)


def test_a_language_model_without_a_trained_head_is_refused(tmp_path: Path) -> None:
    """Pitfall 13; a head that is the embeddings is there, one that is not stored at all is not."""
    folder = make_language_teacher(tmp_path / "headless")
    assert "lm_head.weight" not in load_file(folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": False}))
    with pytest.raises(ValueError, match=r"no lm_head\.weight"):
        Teacher.load(folder, EXACT)


def test_a_tokenizer_without_padding_is_refused(tmp_path: Path) -> None:
    folder = make_language_teacher(tmp_path / "unpadded")
    about = json.loads((folder / "tokenizer_config.json").read_text())
    about.pop("pad_token")
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match="has no padding token"):
        Teacher.load(folder, EXACT)
