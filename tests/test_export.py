"""An export gives the same vectors anywhere, says what it is, and deletes nobody's files."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny import make_student, sentences

from tasks.artifacts import Artifact, make_artifact
from tasks.export.card import Card, public, write_card
from tasks.export.folder import copy_to, refuse_foreign, sample, save_student
from tasks.refs import StudentRef

TEXTS = sentences(12, seed=3, longest=60)


def student_of(path: Path) -> StudentRef:
    return StudentRef(system="round-1", fingerprint="f", path=path)


def exported(root: Path, text: str = "model") -> Artifact:
    def build(folder: Path) -> dict[str, str]:
        (folder / "model" / "1_Pooling").mkdir(parents=True)
        (folder / "model" / "config.json").write_text(text)
        (folder / "model" / "1_Pooling" / "config.json").write_text("{}")
        return {"system": "round-1"}

    return make_artifact(root, "export", 1, {"text": text}, {}, build)


def metrics_of(systems: list[str]) -> pl.DataFrame:
    rows = [
        (system, split, measure, 0.1 * number, 0.01, 40)
        for number, system in enumerate(systems, start=1)
        for split in ("dev", "test")
        for measure in ("nDCG@10", "RR@10", "R@10", "R@100")
    ]
    return pl.DataFrame(rows, schema=["system", "split", "measure", "value", "chance", "queries"], orient="row")


def card_of(**changes: object) -> str:
    recipe = {"name": "mine", "student": {"model": "/home/nobody7/models/small"}, "where": {"home": "/secret"}}
    card = {
        "system": "round-1",
        "name": "mine",
        "recipe": recipe,
        "metrics": metrics_of(["base", "chance", "round-1"]),
        "passages": 77,
        "model": {"similarity": "cosine", "max_length": 64, "prompts": {"query": "query: ", "document": ""}},
    }
    return write_card(Card(**{**card, **changes}))  # type: ignore[arg-type]


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_sentence_transformers_gives_the_same_vectors(tmp_path: Path, similarity: str) -> None:
    """Pitfalls 28 and 32: pooling, prompts, similarity and maximum length travel with the folder."""
    from sentence_transformers import SentenceTransformer

    from models.runtime import configure
    from models.student import Student

    prompts = {"query": "query ", "document": "passage "}
    own = make_student(tmp_path / "own", 5, prompts, similarity, normalize=similarity == "cosine", max_length=24)
    worst = save_student(student_of(own), tmp_path / "out", TEXTS, TEXTS)
    assert worst <= 1e-5
    student = Student.load(own, configure("cpu", "fp32", 1))
    loaded = SentenceTransformer(str(tmp_path / "out"), device="cpu")
    assert np.abs(loaded.encode_query(TEXTS) - student.encode_queries(TEXTS).vectors).max() <= 1e-5
    assert np.abs(loaded.encode_document(TEXTS) - student.encode_passages(TEXTS).vectors).max() <= 1e-5
    assert np.abs(loaded.encode_query(TEXTS) - loaded.encode_document(TEXTS)).max() > 1e-3
    assert loaded.similarity_fn_name == similarity


def test_a_folder_that_gives_other_vectors_is_refused(
    tmp_path: Path, tiny_student: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from models.student import Student

    def lose_the_prompt(self: Student, path: Path) -> None:
        self.model.prompts = {}
        self.model.save_pretrained(str(path), create_model_card=False)

    monkeypatch.setattr(Student, "save", lose_the_prompt)
    with pytest.raises(ValueError, match="differ by"):
        save_student(student_of(tiny_student), tmp_path / "out", TEXTS, TEXTS)


def test_the_sample_holds_the_longest_texts() -> None:
    """Cutting at another length shows in long texts only."""
    texts = [f"text {number}" for number in range(100)]
    texts[40] = "long " * 40
    chosen = sample(texts)
    assert texts[40] in chosen
    assert len(chosen) == len(set(chosen)) <= 32
    assert sample(["one"]) == ["one"]
    assert sample([]) == []


def test_an_export_is_written_whole_and_replaced(tmp_path: Path) -> None:
    first = copy_to(exported(tmp_path, "first"), tmp_path / "out" / "model")
    assert (first / "config.json").read_text() == "first"
    marker = json.loads((first / "remine.json").read_text())
    assert marker["system"] == "round-1"
    assert marker["files"] == ["1_Pooling/config.json", "config.json"]
    second = copy_to(exported(tmp_path, "second"), tmp_path / "out" / "model")
    assert second == first
    assert (second / "config.json").read_text() == "second"
    assert [path.name for path in second.parent.iterdir()] == ["model"]


def test_files_that_no_export_wrote_are_never_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match=r"chapter\.txt"):
        copy_to(exported(tmp_path), folder)
    assert (folder / "chapter.txt").read_text() == "years of work"
    done = copy_to(exported(tmp_path), tmp_path / "out")
    (done / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"notes\.txt"):
        copy_to(exported(tmp_path, "new"), done)
    assert (done / "notes.txt").exists()


def test_a_file_in_the_way_is_refused_and_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="is a file"):
        refuse_foreign(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert (copy_to(exported(tmp_path), tmp_path / "empty") / "config.json").exists()


def test_a_failed_swap_leaves_the_old_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pitfall 4."""
    done = copy_to(exported(tmp_path, "first"), tmp_path / "out" / "model")
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if ".tmp-" in self.name:
            raise OSError("disk full")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="disk full"):
        copy_to(exported(tmp_path, "second"), done)
    assert (done / "config.json").read_text() == "first"
    assert [path.name for path in done.parent.iterdir()] == ["model"]


def test_the_card_shows_figures_use_and_recipe() -> None:
    card = card_of()
    assert card.startswith("---\nlibrary_name:")
    assert "| system | test nDCG@10 | test RR@10 |" in card
    assert card.index("| chance | 0.200") < card.index("| base | 0.100") < card.index("| round-1 | 0.300")
    assert "40 test queries and 40 dev queries over 77 passages" in card
    assert "encode_query" in card
    assert "query: " in card
    assert '"model": "small"' in card


def test_the_card_tells_nothing_of_the_machine() -> None:
    card = card_of()
    assert "nobody7" not in card
    assert "secret" not in card
    assert public({"a": ["/x/y", "owner/name"], "n": 3}) == {"a": ["y", "owner/name"], "n": 3}


def test_texts_in_the_card_stay_texts() -> None:
    card = card_of(name="a|b <script>", recipe={"note": "```\n<script>alert(1)</script>\n```"})
    head, made = card.split("## How it was made")
    assert "<script>" not in head
    assert "a\\|b &lt;script&gt;" in head
    fence = made[made.index("```") : made.index("json")]
    assert made.count(fence) == 2, "a fence inside the settings would end the block"


def test_the_card_of_the_base_says_that_nothing_was_better() -> None:
    assert "nothing that was trained was better on dev" in card_of(system="base")
    assert "labelled pairs" in card_of(system="warm")


def test_the_card_of_a_student_that_stays_in_use_claims_no_teacher() -> None:
    """It may have been trained on labels alone, by the run that put it into use."""
    card = card_of(system="incumbent", metrics=metrics_of(["base", "chance", "incumbent", "round-1"]))
    assert "A bi-encoder for retrieval, the student that was in use before this refresh: no retrained one" in card
    assert "cross-encoder" not in card


def test_the_card_compares_with_no_distilled_student_where_there_was_none() -> None:
    """A run that the teacher's gate stopped has distilled nothing that could have been worse."""
    card = card_of(system="warm", metrics=metrics_of(["base", "chance", "teacher", "warm"]))
    assert "in-batch negatives; no student was distilled." in card
    tried = card_of(system="warm", metrics=metrics_of(["base", "chance", "warm", "round-1", "round-1+teacher"]))
    assert "in-batch negatives; no distilled student was better on dev." in tried


def test_the_card_tells_when_there_is_no_answer() -> None:
    card = card_of(cutoff="below a similarity of 0.412, “no answer” is the better answer")
    assert "Below a similarity of 0.412" in card and "it is found again for each" in card
    assert "When there is no answer" not in card_of()
