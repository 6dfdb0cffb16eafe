"""What training cannot be told: each refusal names the numbers and what would have gone wrong."""

from typing import Any

import pytest
from pydantic import ValidationError

from tasks.train.settings import Training


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"objectives": []}, "at least 1"),
        ({"objectives": [{"name": "infonce"}]}, "'contrastive', 'margin_mse', 'kl' or 'triplet'"),
        ({"objectives": [{"name": "kl"}, {"name": "kl"}]}, "may stand once, got kl, kl; add their weights instead"),
        ({"objectives": [{"name": "kl", "tau": 0.0}]}, "greater than 0"),
        ({"list_length": 3, "positives": 3}, "positives 3 leave no place for a candidate in lists of 3"),
        ({"dimensions": [64, 64]}, r"may stand once, got \[64, 64\]"),
        ({"in_batch": False, "objectives": [{"name": "contrastive", "symmetric": True}]}, "symmetric needs in_batch"),
        ({"pool": 4, "pick": "top"}, "pool 4 narrows what is drawn at random, and pick 'top' draws nothing"),
        ({"pool": 4, "list_length": 8}, "pool 4 is less than the 7 candidates of a list"),
        ({"frozn": ["a"]}, "frozn"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Training.model_validate(settings)


def test_a_pool_of_just_a_list_is_taken() -> None:
    assert Training(pool=7, list_length=8).pool == Training(pool=7, list_length=8, pick="balanced").pool == 7
