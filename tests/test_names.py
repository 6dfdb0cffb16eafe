"""Names of parameters and layers in a recipe are looked up before anything is computed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_loop import recipe

from flows.curriculum import Curriculum
from flows.distill import distill_rounds
from flows.plan import plan_recipe
from flows.recipe import Recipe
from flows.refresh import refresh_student
from flows.standing import check
from flows.teach import teach_each
from models.locate import ModelNotFound
from models.size import parameter_names
from tasks.baseline.settings import StudentSettings
from tasks.refs import Run
from tasks.teach.names import refuse_misnamed_teacher
from tasks.train import names
from tasks.train.names import refuse_misnamed
from tasks.where import Where

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"training": {"frozen": ["word_embedings"]}}, r"training\.frozen has 'word_embedings', and no parameter of"),
    ({"warmup": {"frozen": ["bias", "head"]}}, r"warmup\.frozen has 'head', and no parameter of student\.model"),
    ({"student": {"lora": {"rank": 2, "target_modules": ["querry"]}}}, r"no linear layer's name ends in querry; there"),
    ({"student": {"layers": [1]}, "training": {"frozen": ["layer.1."]}}, r"training\.frozen has 'layer\.1\.'"),
    (
        {"training": {"frozen": ["embeddings", "layer", "pooler"]}},
        r"training\.frozen has .*'layer'.* all \d+ parameters",
    ),
    (
        {"teach": {"frozen": ["word_embedings"]}},
        r"teach\.frozen has 'word_embedings', and no parameter of a teacher made",
    ),
    ({"student": {"layers": [1]}, "teach": {"frozen": ["layer.1."]}}, r"teach\.frozen has 'layer\.1\.'"),
    ({"teach": {"frozen": ["e"]}}, r"teach\.frozen has 'e', which is in the name of all \d+ parameters"),
]


@pytest.mark.parametrize(("changes", "said"), WRONG)
@pytest.mark.parametrize("begin", ["run", "refresh", "plan"])
def test_nothing_is_computed_for_a_name_that_the_student_does_not_have(
    tmp_path: Path, tiny_student: Path, begin: str, changes: dict[str, Any], said: str
) -> None:
    """The round's training would end in this sentence, after everything has been mined and scored for it."""
    where = Where(home=tmp_path / "home", device="cpu", precision="fp32", threads=1)
    made = recipe(tmp_path / "no data", tiny_student).model_dump(mode="json")
    wanted = Recipe.model_validate({**made, **{name: made[name] | section for name, section in changes.items()}})
    run = Run(id=1, recipe="tiny", where=where)
    begins: dict[str, Callable[[], Any]] = {
        "run": lambda: distill_rounds(run, wanted),
        "refresh": lambda: refresh_student(run, wanted),
        "plan": lambda: plan_recipe(wanted, where),
    }
    with pytest.raises(ValueError, match=said):
        begins[begin]()
    assert not where.home.exists()


def test_names_that_are_there_are_found_without_loading_the_student(
    tiny_student: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that finds everything done doesn't load a model to say so."""
    loaded: list[Path] = []
    monkeypatch.setattr(names, "_try", lambda path, *others: loaded.append(path))
    assert "embeddings.word_embeddings.weight" in parameter_names(tiny_student)
    lora = {"rank": 2, "target_modules": ["query", "attention.output.dense"]}
    student = StudentSettings.model_validate({"model": str(tiny_student), "lora": lora})
    refuse_misnamed({"training.frozen": ["word_embeddings", "layer.0."], "warmup.frozen": []}, student)
    refuse_misnamed({"training.frozen": []}, StudentSettings(model="no/such-model"))
    assert not loaded
    refuse_misnamed({"training.frozen": ["0.auto_model"]}, student)
    assert loaded


@pytest.mark.parametrize("towers", [1, 2])
def test_names_that_only_the_loaded_student_has_are_taken(tiny_student: Path, towers: int) -> None:
    changes = {"model": str(tiny_student), "towers": towers, "layers": [1]}
    lora = {"rank": 2, "target_modules": ["layer.0.attention.self.query"]}
    first = "0.model.embeddings" if towers == 1 else "sub_modules.query.0."
    student = StudentSettings.model_validate({**changes, "lora": lora})
    refuse_misnamed({"training.frozen": [first, "lora_A"]}, student)
    with pytest.raises(ValueError, match=r"training\.frozen has 'layer\.1\.'"):
        refuse_misnamed({"training.frozen": [first, "layer.1."]}, student)
    with pytest.raises(ValueError, match=r"'lora_B', which is in the name of all \d+ parameters .* that learn"):
        refuse_misnamed({"training.frozen": ["lora_A", "lora_B"]}, student)


def test_names_of_a_teacher_are_those_that_teaching_will_train(
    tmp_path: Path, tiny_student: Path, tiny_teacher: Path
) -> None:
    """Also its head's, which no file of the student has; a ready teacher is not taught, so nobody reads them."""
    student = StudentSettings(model=str(tiny_student))
    refuse_misnamed_teacher(["classifier", "layer.0."], student)
    refuse_misnamed_teacher(["classifier", "layer.0."], student, str(tiny_teacher))
    with pytest.raises(ValueError, match=r"teach\.frozen has 'layer\.7\.', and no parameter of teach\.start"):
        refuse_misnamed_teacher(["layer.7."], student, str(tiny_teacher))
    wrong = {"teach": {"frozen": ["word_embedings"]}, "teacher": {"model": [str(tiny_teacher)]}}
    check(recipe(tmp_path / "no data", tiny_student, **wrong))


def test_a_ready_teacher_that_is_not_there_is_said_before_anything_is_trained(
    tmp_path: Path, tiny_student: Path, tiny_teacher: Path
) -> None:
    """A misspelt name, told when the warm-up and its control have been trained."""
    where = Where(home=tmp_path / "home", device="cpu", precision="fp32", threads=1)
    wrong = {"teacher": {"model": [str(tiny_teacher), str(tmp_path / "no-such-folder")]}}
    with pytest.raises(ModelNotFound, match="no-such-folder"):
        distill_rounds(Run(id=1, recipe="r", where=where), recipe(tmp_path / "no data", tiny_student, **wrong))
    assert not where.home.exists()


def test_a_teacher_of_many_collections_has_its_names_looked_up_too(tmp_path: Path, tiny_student: Path) -> None:
    where = Where(home=tmp_path / "home", device="cpu", precision="fp32", threads=1)
    asked = {"name": "many", "sources": [{"path": str(tmp_path / "no data")}], "student": {"model": str(tiny_student)}}
    with pytest.raises(ValueError, match=r"teach\.frozen has 'word_embedings'"):
        teach_each(
            Run(id=1, recipe="many", where=where),
            Curriculum.model_validate({**asked, "teach": {"frozen": ["word_embedings"]}}),
        )
    assert not where.home.exists()
