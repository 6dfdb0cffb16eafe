"""Recipes: every setting named, every mistake named."""

from pathlib import Path

import pytest

from flows.curriculum import load_curriculum
from flows.recipe import Recipe, load_recipe

FOLDER = Path(__file__).parent.parent / "flows" / "presets"
CURRICULUM = FOLDER / "general-teacher.toml"
PRESETS = sorted(path for path in FOLDER.glob("*.toml") if path != CURRICULUM)
SMALL = 'name = "x"\n[source]\npath = "data"\n[student]\nmodel = "m"\n'


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_every_preset_is_a_recipe(path: Path) -> None:
    assert load_recipe(path, []).name == path.stem


def test_the_general_teacher_is_a_curriculum() -> None:
    assert load_curriculum(CURRICULUM, ["sources=[{path='a'}, {path='b'}]"]).name == CURRICULUM.stem


PUBLISHED = {"rocketqa", "colbertv2", "margin-mse", "simlm", "gpl", "nv-retriever", "bge", "mnrl"}


def test_there_are_presets() -> None:
    assert {"sample", "hub"} | PUBLISHED <= {path.stem for path in PRESETS}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_published_recipe_cites_its_paper_and_runs_on_other_data_in_its_first_words(name: str) -> None:
    path = next(path for path in PRESETS if path.stem == name)
    text = path.read_text("utf-8")
    comments = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    assert "arXiv" in comments or "sentence-transformers" in comments
    assert "--set source.path=" in comments
    assert load_recipe(path, ["source.path=elsewhere", "student.model=mine"]).source.path == "elsewhere"


def test_published_recipes_differ_in_what_their_papers_differ_in() -> None:
    found = {path.stem: load_recipe(path, []) for path in PRESETS if path.stem in PUBLISHED}
    assert [term.name for term in found["margin-mse"].training.objectives] == ["margin_mse"]
    assert found["rocketqa"].denoising.policy == "drop" and found["rocketqa"].denoising.drop_below == 0.1
    assert found["colbertv2"].training.list_length == 64 and found["simlm"].training.list_length == 24
    assert found["mnrl"].training.objectives[0].name == "contrastive" and found["mnrl"].training.batch == 256


def test_a_budget_scales_steps_and_mined_queries_and_is_spent_once(tmp_path: Path) -> None:
    path = written(
        tmp_path, SMALL + "[teach]\nsteps = 400\nlistwise_steps = 0\n[training]\nsteps = 30\nclusters = 100\n"
    )
    whole, part = load_recipe(path, []), load_recipe(path, ["budget=0.05"])
    assert (part.warmup.steps, part.teach.steps, part.teach.listwise_steps, part.training.steps) == (10, 20, 0, 2)
    assert (part.training.clusters, whole.training.clusters) == (5, 100), "as many queries a topic as before"
    assert part.mining.query_share == pytest.approx(0.05) and whole.mining.query_share == 1.0
    assert Recipe.model_validate(part.model_dump()) == part == Recipe.model_validate_json(part.model_dump_json())
    assert load_recipe(path, ["budget=1.0"]) == whole
    assert load_recipe(path, ["budget=0.001"]).training.steps == 1
    with pytest.raises(ValueError, match=r"budget: .*less than or equal to 1"):
        load_recipe(path, ["budget=20"])


def test_overrides_reach_nested_settings_with_their_type(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    overrides = ["training.steps=7", "training.lr=3e-5", "denoising.policy=drop", "teacher.blend=[1.0]"]
    recipe = load_recipe(path, overrides)
    assert (recipe.training.steps, recipe.training.lr) == (7, 3e-5)
    assert recipe.denoising.policy == "drop" and recipe.teacher.blend == [1.0]


def test_the_file_names_the_recipe_that_does_not_name_itself(tmp_path: Path) -> None:
    assert load_recipe(written(tmp_path, SMALL.replace('name = "x"\n', "")), []).name == "mine"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.step=7", r"training\.step: Extra inputs"),
        ("training.steps=0", r"training\.steps: .*greater than or equal to 1 \(got 0\)"),
        ("training.steps=many", r"training\.steps: .*valid integer"),
        ("training.clip=inf", r"training\.clip: .*finite number \(got inf\)"),
        ("mining.floor=nan", r"mining\.floor: .*finite number \(got nan\)"),
        ("teacher.blend=[-1.0]", r"teacher\.blend\.0: .*greater than or equal to 0"),
        ("teacher.blend=[2.0]", r"teacher\.blend\.0: .*less than or equal to 1"),
        ("seed=99999999999999999999", r"seed: .*less than or equal to 2147483647"),
        ("student.lora.rank=1000000", r"student\.lora\.rank: .*less than or equal to 4096"),
        ("mining.last_rank=500", r"mining: ranks 1–500 don't fit in a depth of 100$"),
        (
            'training.objectives=[{name="kl"}, {name="kl"}]',
            r"training: each of objectives .* instead$",
        ),
        (
            'student={model="m", init="random", lora={rank=8}}',
            "student: init 'random' with lora.rank 8 would",
        ),
        ("rounds", "needs key=value"),
        ("name.first=1", "is a value in the recipe, not a section"),
    ],
)
def test_a_mistake_is_named_with_what_came_and_what_was_needed(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_recipe(written(tmp_path, SMALL), [override])


def test_what_is_no_toml_file_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"mine\.toml: not a TOML file"):
        load_recipe(written(tmp_path, "name = "), [])
    with pytest.raises(FileNotFoundError, match="remine init"):
        load_recipe(tmp_path / "none.toml", [])


def test_every_setting_is_described() -> None:
    """The descriptions are the form in the Prefect UI."""

    schema = Recipe.model_json_schema()
    tables = {"Recipe": schema, **schema["$defs"]}
    named = {name: table for name, table in tables.items() if "properties" in table}
    assert len(named) >= 10
    for name, table in named.items():
        for key, field in table["properties"].items():
            own = field.get("description") or tables.get(field.get("$ref", "").rpartition("/")[2], {})
            assert own, f"{name}.{key} has no description"


@pytest.mark.parametrize(
    ("override", "message"),
    [("denoising.policy=promote", "would be 'drop'"), ("mining.unlabelled=true", "scored and never used")],
)
def test_queries_without_labels_are_mined_exactly_where_they_can_get_a_positive(
    tmp_path: Path, override: str, message: str
) -> None:
    """A run that scores thousands of pairs for nothing, or a policy that silently is another one."""
    path = written(tmp_path, SMALL)
    with pytest.raises(ValueError, match=message):
        load_recipe(path, [override])
    assert load_recipe(path, ["denoising.policy=promote", "mining.unlabelled=true"]).mining.unlabelled
