"""Deployments: every flow of a recipe, with parameters that are whole, described and valid."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_loop import recipe

from flows.deploying import as_yaml, deployments
from flows.offered import OFFERED, offered
from flows.recipe import Recipe, load_recipe
from tasks.where import Where

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    found = deployments(asked(), Where(home=Path("/srv/remine")), "0 3 * * 1", "Europe/Berlin", "refresh")
    return {each.flow_name: each for each in found}


def asked() -> Any:
    return recipe(Path("data"), Path("student"))


def test_every_flow_is_deployed_under_the_recipes_name(made: dict[str, Any]) -> None:
    assert set(made) == {each.name for each in OFFERED} == {"distill", "refresh", "score", "evaluate", "sweep"}
    assert {each.name for each in made.values()} == {"tiny"}
    assert all(each.description for each in made.values())
    assert {each.entrypoint for each in made.values()} == {f"{one.module}.{one.function}" for one in OFFERED}


def test_one_flow_is_scheduled_by_the_clock_that_was_named(made: dict[str, Any]) -> None:
    scheduled = {name: [each.schedule for each in one.schedules or []] for name, one in made.items()}
    assert scheduled["distill"] == scheduled["score"] == []
    (schedule,) = scheduled["refresh"]
    assert (schedule.cron, schedule.timezone) == ("0 3 * * 1", "Europe/Berlin")


@pytest.mark.parametrize("cron, timezone", [("at three", "UTC"), ("0 3 * * 1", "Europe/Nowhere")])
def test_a_schedule_that_cannot_be_read_is_named(cron: str, timezone: str) -> None:
    with pytest.raises(ValueError, match="not a schedule that can be read"):
        deployments(asked(), Where(), cron, timezone, "refresh")


def test_parameters_are_what_the_flow_takes(made: dict[str, Any]) -> None:
    """A form that shows other values than those that are run with is worse than none."""
    for name, each in made.items():
        which = offered(name)
        assert which.asks.model_validate(each.parameters[which.parameter]) == which.defaults(asked())
        assert Where.model_validate(each.parameters["where"]) == Where(home=Path("/srv/remine"))


def test_every_setting_in_the_form_says_what_it_is_for(made: dict[str, Any]) -> None:
    fields = [field for each in made.values() for field in described(each._parameter_openapi_schema.model_dump())]
    assert len(fields) > 100
    assert [name for name, field in fields if not field.get("description")] == []
    for each in made.values():
        properties = each._parameter_openapi_schema.model_dump()["properties"]
        assert all(field.get("description") for field in properties.values()), properties.keys()


def test_closed_choices_are_choices(made: dict[str, Any]) -> None:
    """Prefect's form makes a select of an `enum`."""
    fields = dict(described(made["refresh"]._parameter_openapi_schema.model_dump()))
    for name in ("Refresh.miner", "Denoising.policy", "Training.start", "Promotion.rule", "Where.device"):
        assert len(fields[name]["enum"]) >= 2, name


def described(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for model, about in schema["definitions"].items():
        for name, field in about.get("properties", {}).items():
            # What a field says that is the same as its model says, stands at the model alone.
            inner = schema["definitions"].get(field.get("$ref", "").removeprefix("#/definitions/"), {})
            yield f"{model}.{name}", {**inner, **field}


def test_the_file_for_prefect_deploy_is_that_of_the_sample() -> None:
    """Mended by `make docs`."""
    sample = load_recipe(ROOT / "flows/presets/sample.toml", [])
    written = as_yaml(sample, Where(), "0 3 * * 1", "Europe/Berlin", "refresh")
    assert (ROOT / "prefect.yaml").read_text("utf-8") == written
    made = yaml.safe_load(written)["deployments"]
    assert [each["schedules"] for each in made if each["schedules"]] == [
        [{"cron": "0 3 * * 1", "timezone": "Europe/Berlin"}]
    ]
    assert [each["entrypoint"] for each in made] == [f"{each.module}.{each.function}" for each in OFFERED]
    assert all(callable(each.load()) for each in OFFERED)
    (distill,) = [each for each in made if each["entrypoint"].endswith("distill")]
    assert Recipe.model_validate(distill["parameters"]["recipe"]) == sample


def test_another_name_is_no_flow() -> None:
    with pytest.raises(LookupError, match="there are distill, refresh, score"):
        offered("sweep-up")
