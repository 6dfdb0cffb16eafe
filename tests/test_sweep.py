"""Variants of a recipe beside each other: every combination once, nothing computed twice, one failure ends nothing."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from command import Remine
from sources import write_words
from tiny_loop import QUERIES, recipe

from flows.cli.resume import whole
from flows.variants import Sweep, sweep_of
from tasks.report.svg import SVG
from tasks.report.sweeping import sweep_plot
from tasks.report.toml import as_toml
from tasks.where import Where
from warehouse.connect import Warehouse


@pytest.fixture
def path(tmp_path: Path, tiny_student: Path) -> Path:
    """The tiny recipe as a file, one round."""
    data = write_words(tmp_path / "data", QUERIES)
    path = tmp_path / "recipe.toml"
    path.write_text(as_toml(recipe(data, tiny_student, rounds=1).model_dump(mode="json")), "utf-8")
    return path


def run(sweep: Sweep, home: Path) -> Any:
    from flows.sweep import sweep_variants

    return sweep_variants(sweep, Where(home=home, device="cpu", precision="fp32", threads=1), return_state=True)


def test_every_combination_is_a_variant_under_a_name_of_its_own(path: Path) -> None:
    over = ["training.lr=1e-4,0.001", 'mining.miners=["student"],["student", "bm25"]', "denoising.policy=drop"]
    found = sweep_of(path, over, ["rounds=3"])
    assert [(v.recipe.training.lr, v.recipe.mining.miners, v.recipe.denoising.policy) for v in found.variants] == [
        (1e-4, ["student"], "drop"),
        (1e-4, ["student", "bm25"], "drop"),
        (1e-3, ["student"], "drop"),
        (1e-3, ["student", "bm25"], "drop"),
    ]
    assert {variant.recipe.rounds for variant in found.variants} == {3}
    assert found.variants[1].recipe.name == "tiny-lr0.0001-minersstudent_bm25-policydrop"


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ([], "--over KEY=VALUE"),
        (["seed"], "needs KEY=VALUE"),
        (["seed="], "needs KEY=VALUE"),
        (["seed=0,1", "seed=2"], "comes twice"),
        (["seed=0,0"], "one name"),
        (["sede=1,2"], "sede"),
        (["training.steps=0,1"], "training.steps"),
        ([f"seed={','.join(map(str, range(201)))}"], "201 variants"),
    ],
)
def test_what_cannot_be_swept_is_refused_before_anything_runs(path: Path, over: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sweep_of(path, over, [])


@pytest.mark.slow
@pytest.mark.usefixtures("prefect")
def test_variants_share_what_they_have_in_common_and_stand_in_one_table(path: Path, tmp_path: Path) -> None:
    swept = sweep_of(path, ["training.batch=2,8", "seed=0"], [], "R@10")
    folder = run(swept, tmp_path / "home").result()
    table = pl.read_csv(folder / "table.csv")
    assert table["training.batch"].to_list() == [2, 8]
    assert table["run"].to_list() == [2, 3]
    assert runs(tmp_path / "home") == [("sweep", "tiny", "completed", None), *variants_of(swept, 1)]
    first, second = table["scored"].to_list()
    assert 0 <= 10 * second < first, "all that is new is what the other student finds for dev and test"
    assert {"chance", "base", "warm", "teacher", "round-1"} <= set(table.columns)
    assert table["warm"].n_unique() == 1
    text = (folder / "plot.svg").read_text("utf-8")
    assert "R@10" in text and "training.batch" in text
    run(swept, tmp_path / "home")
    again = pl.read_csv(folder / "table.csv")
    assert again["seconds"].to_list() == [0, 0], "nothing is made again"
    assert again.drop("run", "seconds", "scored").equals(table.drop("run", "seconds", "scored"))


@pytest.mark.slow
@pytest.mark.usefixtures("prefect")
def test_a_variant_that_fails_is_named_and_the_others_are_kept(path: Path, tmp_path: Path, tiny_student: Path) -> None:
    state = run(sweep_of(path, [f'student.model="{tiny_student}","nowhere/at-all"'], []), tmp_path / "home")
    assert state.is_failed()
    assert "1 of 2 variants failed" in str(state.message) and "tiny-modelnowhere_at_all" in str(state.message)
    assert pl.read_csv(tmp_path / "home" / "sweeps" / "tiny" / "table.csv").height == 1


def runs(home: Path) -> list[tuple[str, str, str, int | None]]:
    """Flow, recipe, status and the run that it is a part of, of every run."""
    sql = "SELECT flow, recipe, status, CAST(json_extract(facts, '$.part_of') AS INTEGER) FROM runs ORDER BY run_id"
    with Warehouse(home / "warehouse.duckdb").read() as connection:
        return connection.execute(sql).fetchall()


def variants_of(sweep: Sweep, number: int) -> list[tuple[str, str, str, int | None]]:
    return [("distill", each.recipe.name, "completed", number) for each in sweep.variants]


@pytest.mark.slow
@pytest.mark.usefixtures("prefect")
def test_a_sweep_that_is_stopped_is_cancelled_with_its_variant_and_resumed_by_the_number_of_either(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, swept = tmp_path / "home", sweep_of(path, ["seed=7"], ["warmup.control=false"])
    with monkeypatch.context() as stopped:
        stopped.setattr("flows.distill.measure", interrupted)
        assert run(swept, home).is_cancelled()
    assert runs(home) == [("sweep", "tiny", "cancelled", None), ("distill", "tiny-seed7", "cancelled", 1)]
    warehouse = Warehouse(home / "warehouse.duckdb")
    row = whole(warehouse, 2)
    assert row == whole(warehouse, 1) and row["flow"] == "sweep"
    assert Sweep.model_validate_json(row["settings"]) == swept
    run(Sweep.model_validate_json(row["settings"]), home)
    assert runs(home)[2:] == [("sweep", "tiny", "completed", None), *variants_of(swept, 3)]


def interrupted(*_: object) -> None:
    """Ctrl-C in the middle of a step."""
    raise KeyboardInterrupt


def test_a_plot_has_a_line_per_system_over_the_mean_of_seeds() -> None:
    named = {"lr": ["1", "1", "64"], "seed": ["0", "1", "0"], "run": [1, 2, 3], "split": ["dev"] * 3}
    values = {"value": [0.2, 0.4, 0.5], "bm25": [0.1] * 3, "base": [0.3] * 3, "warm": [0.2, 0.4, None]}
    table = pl.DataFrame({**named, **values, "scored": [0] * 3, "seconds": [1.0] * 3})
    root = ElementTree.fromstring(sweep_plot(table, "lr", "nDCG@10"))
    said = root.get("aria-label") or ""
    assert "value 0.300, 0.500; base 0.300, 0.300; warm 0.300." in said and "bm25" not in said
    assert {"value", "base", "warm", "1", "64"} <= {text.text for text in root.iter(f"{{{SVG}}}text")}


def test_the_command_says_what_it_needs(remine: Remine, path: Path, tmp_path: Path) -> None:
    told = remine("sweep", str(path), "--home", str(tmp_path))
    assert told.returncode == 1 and "--over KEY=VALUE" in told.stderr
    assert not (tmp_path / "warehouse.duckdb").exists()
