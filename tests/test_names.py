"""Names of parameters and layers in a recipe are looked up before anything is computed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_loop import recipe

from flows.distill import distill_rounds
from flows.plan import plan_recipe
from flows.recipe import Recipe
from flows.refresh import refresh_student
from models.size import parameter_names
from tasks.baseline.settings import StudentSettings
from tasks.refs import Run
from tasks.train import names
from tasks.train.names import refuse_misnamed
from tasks.where import Where

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"training": {"frozen": ["word_embedings"]}}, r"training\.frozen has 'word_embedings', and no parameter of"),
    ({"warmup": {"frozen": ["bias", "head"]}}, r"warmup\.frozen has 'head', and no parameter of student\.model"),
    ({"student": {"lora": {"rank": 2, "target_modules": ["querry"]}}}, r"no linear layer's name ends in querry; there"),
    ({"student": {"layers": [1]}, "training": {"frozen": ["layer.1."]}}, r"training\.frozen has 'layer\.1\.'"),
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
    first = "0." if towers == 1 else "sub_modules.query.0."
    student = StudentSettings.model_validate({**changes, "lora": lora})
    refuse_misnamed({"training.frozen": [first, "layer.0.", "lora_A"]}, student)
    with pytest.raises(ValueError, match=r"training\.frozen has 'layer\.1\.'"):
        refuse_misnamed({"training.frozen": [first, "layer.1."]}, student)
