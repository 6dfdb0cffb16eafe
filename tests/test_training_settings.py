"""What training cannot be told: each refusal names the numbers and what would have gone wrong."""

from dataclasses import fields
from math import inf
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from models.objectives import Term
from tasks.train.settings import READ, Objective, ObjectiveName, Training


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"objectives": []}, "at least 1"),
        ({"objectives": [{"name": "infonce"}]}, "'contrastive', 'margin_mse', 'kl' or 'triplet'"),
        ({"objectives": [{"name": "kl"}, {"name": "kl"}]}, "may stand once, got kl, kl; add their weights instead"),
        ({"objectives": [{"name": "kl", "tau": 0.0}]}, "greater than or equal to 0.0001"),
        ({"objectives": [{"name": "kl", "tau": 1e-40}]}, "greater than or equal to 0.0001"),
        ({"objectives": [{"name": "kl", "teacher_tau": 1e-40}]}, "greater than or equal to 0.0001"),
        (
            {"objectives": [{"name": "kl", "symmetric": True}]},
            "kl does not read symmetric True; .* tau, teacher_tau, ",
        ),
        ({"objectives": [{"name": "triplet", "tau": 0.02}]}, "triplet does not read tau 0.02; .* it reads margin, and"),
        ({"objectives": [{"name": "margin_mse", "margin": 1.0}]}, "margin_mse does not read margin 1.0; .* reads tau,"),
        ({"objectives": [{"name": "contrastive", "teacher_tau": 2.0}]}, "contrastive does not read teacher_tau 2.0; "),
        ({"list_length": 3, "positives": 3}, "positives 3 leave no place for a candidate in lists of 3"),
        ({"dimensions": [64, 64]}, r"may stand once, got \[64, 64\]"),
        ({"in_batch": False, "objectives": [{"name": "contrastive", "symmetric": True}]}, "symmetric needs in_batch"),
        ({"pool": 4, "pick": "top"}, "pool 4 narrows what is drawn at random, and pick 'top' draws nothing"),
        ({"pool": 4, "list_length": 8}, "pool 4 is less than the 7 candidates of a list"),
        ({"frozn": ["a"]}, "frozn"),
        ({"lr": inf}, "finite number"),
        ({"objectives": [{"name": "kl", "tau": inf}]}, "finite number"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Training.model_validate(settings)


def test_a_pool_of_just_a_list_is_taken() -> None:
    assert Training(pool=7, list_length=8).pool == Training(pool=7, list_length=8, pick="balanced").pool == 7


def test_every_setting_of_a_term_is_read_by_some_objective() -> None:
    """A setting that the table of readers forgot could never be set."""
    assert set(READ) == set(get_args(ObjectiveName))
    read = {name for names in READ.values() for name in names}
    assert {"name", "weight", *read} == set(Objective.model_fields) == {field.name for field in fields(Term)}


def test_an_objective_that_was_written_out_whole_is_taken_again() -> None:
    """Forms and stored recipes hold every field, also those that an objective leaves at their defaults."""
    for name in get_args(ObjectiveName):
        made = Objective(name=name, weight=0.5)
        assert Objective.model_validate(made.model_dump()) == made
