"""The whole loop on tiny models: a recipe that takes seconds, and a run of it."""

from pathlib import Path
from typing import Any

from flows.recipe import Recipe
from tasks.where import Where
from warehouse.connect import Warehouse

QUERIES = 60


def recipe(data: Path, student: Path, **changes: Any) -> Recipe:
    settings: dict[str, Any] = {
        "name": "tiny",
        "rounds": 2,
        "patience": 2,
        "source": {"path": str(data)},
        "student": {"model": str(student)},
        "warmup": {"steps": 4, "batch": 8, "lr": 1e-3, "evaluate_every": 2},
        "teach": {"steps": 4, "batch": 4, "evaluate_every": 2, "dev_queries": 10},
        "teacher": {"gate": "warn"},
        "mining": {"depth": 10, "last_rank": 10},
        "evaluation": {"rerank_depth": 10},
        "training": {"steps": 4, "batch": 8, "list_length": 4, "lr": 1e-3, "evaluate_every": 2},
    }
    return Recipe.model_validate({**settings, **changes})


def run(recipe: Recipe, home: Path) -> Warehouse:
    from flows.distill import distill

    where = Where(home=home, device="cpu", precision="fp32", threads=1)
    state: Any = distill(recipe, where, return_state=True)
    assert state.is_completed(), state
    return Warehouse(where.warehouse_path)
