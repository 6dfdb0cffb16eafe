"""`remine plan`: its amounts are those of the run that follows, and it leaves nothing behind."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tiny import make_teacher
from tiny_corpus import frames
from tiny_loop import recipe
from typer.testing import CliRunner

from flows.cli.main import app, describe
from flows.cli.plan import row, sentences
from flows.plan import as_long, plan_recipe
from models.locate import ModelNotFound
from tasks.plan.line import Line, Plan
from tasks.where import Where
from warehouse.connect import Warehouse

Tree = dict[str, tuple[int, int]]


@pytest.fixture(scope="module", autouse=True)
def brief() -> Iterator[None]:
    """Measure for moments: the amounts are looked at here, and that every time is there."""
    from tasks.plan import pace

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pace, "BUDGET", dict.fromkeys(pace.BUDGET, 0.02))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plan")


@pytest.fixture(scope="module")
def data(folder: Path, looped: Path) -> Path:
    return shutil.copytree(looped / "data", folder / "data")


def where(home: Path) -> Where:
    return Where(home=home, device="cpu", precision="fp32", threads=1)


def tree(folder: Path) -> Tree:
    return {str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def before(folder: Path, data: Path, tiny_student: Path) -> Plan:
    """The plan of a run in a folder that isn't there yet."""
    at_first = tree(folder)
    found = plan_recipe(recipe(data, tiny_student), where(folder / "home"))
    assert tree(folder) == at_first and len(at_first) > 3
    return found


@pytest.fixture(scope="module")
def home(folder: Path, looped: Path, before: Plan) -> Path:
    """The folder after the run that was planned."""
    return shutil.copytree(looped / "home", folder / "home")


@pytest.fixture(scope="module")
def made(home: Path) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """What the run made: `artifact.json` by step and round."""
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    with Warehouse(home / "warehouse.duckdb").read() as connection:
        rows = connection.execute(
            "SELECT a.step, r.round, a.path FROM rounds r JOIN artifacts a USING (artifact_id) WHERE r.run_id = 1"
        ).fetchall()
    for step, number, path in rows:
        about = json.loads((Path(path) / "artifact.json").read_text())
        found.setdefault((step, number), []).append({**about, "path": path})
    return found


def lines(found: Plan, step: str, number: int) -> list[Line]:
    return [line for line in found.lines if (line.step, line.round) == (step, number)]


def test_a_plan_has_the_steps_of_the_run_that_follows(before: Plan, made: dict[tuple[str, int], list[Any]]) -> None:
    """A step that the plan forgets is time that nobody was told of."""
    planned = Counter((line.step, line.round) for line in before.lines if line.step != "start")
    entered = {place: len(artifacts) for place, artifacts in made.items()}
    assert planned == entered


def test_every_line_to_do_has_its_time(before: Plan) -> None:
    assert all((line.seconds or 0) > 0 for line in before.todo)
    assert before.pace is not None and (before.pace.encoded_tokens or 0) > 0 and (before.pace.scored_tokens or 0) > 0
    assert before.seconds == pytest.approx(sum(line.seconds or 0 for line in before.lines))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_as_many_texts_are_encoded(before: Plan, made: dict[tuple[str, int], list[Any]], number: int) -> None:
    planned, run = lines(before, "encode", number), made["encode", number]
    assert {(line.passages, line.queries) for line in planned} == {
        (about["facts"]["passages"], about["facts"]["queries"]) for about in run
    }


@pytest.mark.parametrize(("number", "what"), [(0, "dev and test"), (1, "train"), (1, "dev and test"), (2, "train")])
def test_as_many_pairs_are_scored(before: Plan, made: dict[tuple[str, int], list[Any]], number: int, what: str) -> None:
    (line,) = (line for line in lines(before, "score", number) if line.what == what)
    counts = [(about["facts"]["pairs"], about["facts"]["new"]) for about in made["score", number]]
    if line.assumed:
        assert line.pairs + line.reused in [pairs for pairs, _ in counts] and number > 0
    else:
        assert (line.pairs + line.reused, line.pairs) in counts


def test_only_what_depends_on_a_student_to_come_is_assumed(before: Plan) -> None:
    """A number that is a guess and doesn't say so is taken for a count."""
    assumed = {(line.round, line.what) for line in before.lines if line.assumed}
    assert assumed == {(1, "dev and test"), (2, "train"), (2, "dev and test")}
    shown = [row(line) for line in before.lines if line.assumed]
    assert all("(assumed)" in cell for cells in shown for cell in cells[4:6])


def test_what_two_steps_give_is_made_once(before: Plan) -> None:
    """Round 1 mines with the vectors that the teacher's hard negatives were mined with."""
    first, again = (lines(before, "mine", number)[0] for number in (0, 1))
    assert not first.done and again.done and again.above
    assert row(again)[3] == "made above"


def test_as_many_steps_are_trained(before: Plan, made: dict[tuple[str, int], list[Any]]) -> None:
    for step, number in (("warmup", 0), ("train", 1), ("train", 2)):
        planned = sorted(line.steps for line in lines(before, step, number))
        assert planned == sorted(about["facts"]["steps"] for about in made[step, number])
    (teach,) = lines(before, "teach", 0)
    assert teach.steps == sum(about["settings"]["steps"] * about["settings"]["folds"] for about in made["teach", 0])


def test_artifacts_take_the_room_that_was_told(before: Plan, made: dict[tuple[str, int], list[Any]]) -> None:
    """A disk that fills up in the last round costs the whole run."""
    for step in ("encode", "warmup", "teach"):
        planned = sum(line.artifact_bytes for line in lines(before, step, 0))
        files = [path for about in made[step, 0] for path in Path(about["path"]).rglob("*") if path.is_file()]
        assert planned == pytest.approx(sum(path.stat().st_size for path in files), rel=0.25), step


def test_after_the_run_there_is_nothing_to_do(home: Path, folder: Path, data: Path, tiny_student: Path) -> None:
    at_first = tree(folder)
    found = plan_recipe(recipe(data, tiny_student), where(home))
    assert [(line.step, line.what) for line in found.lines if not line.done] == []
    assert found.pace is None and found.seconds == 0 and found.bytes == 0
    assert sentences(found) == ["Nothing to do: everything that this recipe makes is there already."]
    assert tree(folder) == at_first


def test_another_learning_rate_leaves_what_it_does_not_touch(home: Path, data: Path, tiny_student: Path) -> None:
    """Pitfall 2 from the other side: what a setting does not touch is not planned again."""
    changed = recipe(data, tiny_student)
    training = changed.training.model_copy(update={"lr": 5e-4})
    found = plan_recipe(changed.model_copy(update={"training": training}), where(home))
    todo = {(line.step, line.round) for line in found.todo}
    assert {("train", 1), ("encode", 1), ("mine", 2)} <= todo
    assert not {step for step, _ in todo} & {"ingest", "warmup", "teach", "calibrate"}
    assert not {("mine", 1), ("score", 0), ("denoise", 1)} & todo
    assert lines(found, "score", 1)[0].done


def test_scores_in_the_store_are_counted_as_reused(home: Path, data: Path, tiny_student: Path) -> None:
    """Deleted artifacts are made again, but no pair is scored twice."""
    wanted = recipe(data, tiny_student)
    kept = list((home / "data" / "artifacts" / "score").iterdir())
    moved = home / "data" / "artifacts" / "score-away"
    (home / "data" / "artifacts" / "score").rename(moved)
    try:
        found = plan_recipe(wanted, where(home))
    finally:
        moved.rename(home / "data" / "artifacts" / "score")
    scored = [line for line in found.todo if line.step == "score"]
    assert len(kept) == len(scored) > 2
    assert all(line.pairs == 0 and line.reused > 0 and not line.assumed for line in scored)


def test_mined_pairs_are_counted_as_the_window_counts_them(data: Path) -> None:
    """Excluded passages shorten a list only where the corpus ends before the window does."""
    from tasks.mine.amount import mined_amount
    from tasks.mine.settings import Mining

    passages = ["red cat", "blue dog", "green tree", "Red  cat", "old river"]
    made = frames(passages, {"what cat": "train", "blue dog": "train", "dev": "dev"}, [
        ("what cat", "red cat", 1), ("what cat", "blue dog", 0), ("blue dog", "green tree", 1), ("dev", "old river", 1)
    ])  # fmt: skip
    tables = (made["passages"], made["queries"], made["labels"])
    # what cat: without the positive and its duplicate 3 are left; blue dog: without the positive and its own text 3
    for window, candidates in (((1, 10), 6), ((3, 10), 2), ((1, 2), 4), ((4, 10), 0)):
        found = mined_amount(*tables, Mining(depth=10, first_rank=window[0], last_rank=window[1]))
        assert (found.queries, found.candidates, found.positives, found.pairs) == (2, candidates, 2, candidates + 2)


def test_a_pair_is_read_by_as_many_folds_as_may_judge_it() -> None:
    """Dev pairs read once in the plan and four times in the run would make it four times too short."""
    from tasks.score.folds import FoldedTeacher
    from tasks.teach.amount import readers
    from tasks.teach.labels import fold_of

    queries, folds = pl.Series("query_hash", [3, 8, 13, 22, 7], dtype=pl.Int64), 4
    own = fold_of(queries, folds)
    seen = pl.concat(
        [pl.DataFrame({"query_hash": queries.filter(pl.Series(own != n)), "fold": n}) for n in range(folds)]
    )
    taught: list[Any] = [None] * folds
    teacher = FoldedTeacher(taught, seen)
    for query, taught_on in ((3, True), (22, True), (99, False)):
        may = sum(int(query not in np.asarray(hashes)) for hashes in teacher.seen)
        assert may == readers(folds, taught_on)
    assert readers(0, True) == readers(0, False) == 1


@pytest.mark.parametrize(("steps", "every", "looks"), [(4, 2, 3), (5, 2, 4), (3, 0, 2), (1, 50, 2)])
def test_looks_at_dev_are_counted_as_training_looks(steps: int, every: int, looks: int) -> None:
    from models.fitting import Plan as Training

    assert Training(steps, evaluate_every=every).looks == looks


def test_a_table_says_what_is_there_and_json_has_the_totals(home: Path, data: Path, tiny_student: Path) -> None:
    path = home.parent / "recipe.toml"
    path.write_text(
        f'name = "other"\nrounds = 1\n[source]\npath = "{data}"\n[student]\nmodel = "{tiny_student}"\n'
        "[warmup]\nsteps = 4\nbatch = 8\n[teach]\nsteps = 4\nbatch = 4\n[training]\nsteps = 4\nbatch = 8\n"
    )
    options = ["plan", str(path), "--home", str(home), "--device", "cpu", "--precision", "fp32", "--threads", "1"]
    table = CliRunner().invoke(app, options, catch_exceptions=False)
    assert "there already" in table.output and "In all about" in table.output
    told = CliRunner().invoke(app, [*options, "--format", "json"], catch_exceptions=False)
    found = json.loads(told.stdout)
    assert found["totals"]["bytes"] > 0 and found["totals"]["seconds"] > 0
    assert found["totals"]["pairs"] == sum(line["pairs"] for line in found["lines"]) > 0


def test_without_data_or_recipe_it_says_what_was_looked_for(tmp_path: Path, tiny_student: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such recipe"):
        CliRunner().invoke(app, ["plan", str(tmp_path / "none.toml")], catch_exceptions=False)
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        plan_recipe(recipe(tmp_path / "none", tiny_student), where(tmp_path / "home"))
    assert tree(tmp_path) == {}


def test_a_wrong_setting_is_named(tmp_path: Path, data: Path, tiny_student: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(f'[source]\npath = "{data}"\n[student]\nmodel = "{tiny_student}"\n')
    with pytest.raises(ValueError, match=r"mining\.depht"):
        CliRunner().invoke(app, ["plan", str(path), "--set", "mining.depht=5"], catch_exceptions=False)


def test_lists_are_tried_as_long_as_mining_makes_them(tmp_path: Path, tiny_student: Path) -> None:
    """Lists of a thousand passages were tried where mining gives ten candidates, and told as the step's time."""
    asked = recipe(tmp_path, tiny_student, mining={"depth": 10, "last_rank": 10}, training={"list_length": 10**9})
    assert as_long(asked).list_length == 11
    assert as_long(recipe(tmp_path, tiny_student, training={"list_length": 3})).list_length == 3


def test_every_member_of_an_ensemble_is_measured(tmp_path: Path, data: Path, tiny_student: Path) -> None:
    """The time of the student's backbone, told as that of members ten times as large."""
    members = [str(make_teacher(tmp_path / name, seed=seed)) for seed, name in enumerate(("one", "other"), 5)]
    wanted = recipe(data, tiny_student)
    wanted = wanted.model_validate({**wanted.model_dump(), "teacher": {"model": members}})
    found = plan_recipe(wanted, where(tmp_path / "home"))
    assert found.pace is not None and found.pace.scored_by == " + ".join(members)
    assert (found.pace.scored_tokens or 0) > 0 and not (tmp_path / "home").exists()
    scales, first = lines(found, "score", 0)[:2], lines(found, "score", 1)[0]
    assert first.pairs == 0 and first.reused == sum(line.pairs for line in scales) > 0  # read once, counted once


def test_a_hub_model_that_cannot_be_reached_is_a_sentence(tmp_path: Path, data: Path, tiny_student: Path) -> None:
    """A traceback of the hub's client says nothing about the recipe."""
    wanted, nobody = recipe(data, tiny_student), {"model": "nobody/nothing"}
    for part in ("student", "teacher"):
        changed = wanted.model_validate({**wanted.model_dump(), part: nobody})
        with pytest.raises(ModelNotFound) as told:
            plan_recipe(changed, where(tmp_path / "home"))
        assert "nobody/nothing" in describe(told.value) and "not foreseen" not in describe(told.value)
    assert tree(tmp_path) == {}


def test_a_busy_machine_is_told_of(before: Plan) -> None:
    """Times measured beside other work are several times too long, and nobody would know."""
    assert before.pace is not None
    for load, told in ((0.1, False), (3.9, True)):
        busy = before.pace.model_copy(update={"busy": load})
        said = " ".join(sentences(before.model_copy(update={"pace": busy})))
        assert ("Other work kept the machine busy" in said) == told
