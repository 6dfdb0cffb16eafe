"""The published recipes, run: each through the whole loop, on a corpus and with models that take seconds."""

from pathlib import Path
from typing import Any

import pytest
from sources import write_words

from flows.recipe import load_recipe
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.queries import leaderboard, quality

PRESETS = Path(__file__).parent.parent / "flows" / "presets"
PUBLISHED = ["bge", "colbertv2", "gpl", "margin-mse", "mnrl", "nv-retriever", "rocketqa", "simlm"]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect")]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_preset_runs_on_other_data_with_other_models_and_a_small_budget(
    name: str, tiny_student: Path, tiny_teacher: Path, tmp_path: Path
) -> None:
    """As its first lines say it does; the gate only warns, because the tiny teacher knows nothing."""
    from flows.distill import distill

    changes = [
        f"source.path={write_words(tmp_path / 'data', 60)}",
        f"student.model={tiny_student}",
        f"teacher.model={tiny_teacher}",
        "student.max_length=64",  # what the tiny models have positions for
        "teacher.max_length=64",
        "teacher.gate=warn",
        "budget=0.05",
    ]
    recipe = load_recipe(PRESETS / f"{name}.toml", changes)
    where = Where(home=tmp_path / "home", device="cpu", precision="fp32", threads=1)
    state: Any = distill(recipe, where, return_state=True)
    assert state.is_completed(), state
    warehouse = Warehouse(where.warehouse_path)
    systems = set(leaderboard(warehouse, 1)["system"])
    assert {"chance", "bm25", "base", "warm", "teacher", "round-1"} <= systems
    assert quality(warehouse).height == 0
    with warehouse.read() as connection:
        scored = connection.execute("SELECT query_id FROM scored_candidates WHERE logit IS NOT NULL").fetchall()
    assert scored
