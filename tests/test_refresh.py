"""Refresh: of grown data only the difference is encoded and scored, and what comes of it is as good as done afresh."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sources import write_words
from tiny_loop import QUERIES, recipe, run

from tasks.artifacts import Artifact
from tasks.where import Where
from warehouse import report_rows
from warehouse.connect import Warehouse
from warehouse.lookup import artifacts_of
from warehouse.queries import quality, run_rows

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect")]

NEW = 6


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, tiny_student: Path) -> Path:
    """A folder with data and one run."""
    folder = tmp_path_factory.mktemp("first")
    run(recipe(write_words(folder / "data", QUERIES), tiny_student), folder)
    return folder


@pytest.fixture(scope="module")
def grown(first: Path, tmp_path_factory: pytest.TempPathFactory, tiny_student: Path) -> Path:
    """The same folder after a tenth more of everything came in, and a refresh."""
    grow(first / "data")
    refreshed(first, tiny_student)
    return first


def grow(data: Path) -> None:
    with (data / "corpus.jsonl").open("a") as passages, (data / "queries.jsonl").open("a") as queries:
        for number in range(NEW):
            text = f"green river table {number} number"
            passages.write(json.dumps({"_id": f"n{number}", "title": "", "text": f"{text} passage"}) + "\n")
            queries.write(json.dumps({"_id": f"m{number}", "text": f"how to {text}"}) + "\n")
    with (data / "qrels" / "train.tsv").open("a") as labels:
        labels.writelines(f"\nm{number}\tn{number}\t1" for number in range(NEW))


def refreshed(home: Path, student: Path, **changes: Any) -> Any:
    from flows.refresh import refresh

    where = Where(home=home, device="cpu", precision="fp32", threads=1)
    state: Any = refresh(recipe(home / "data", student, **changes), where, return_state=True)
    assert state.is_completed(), state
    return state.result()


def warehouse_of(home: Path) -> Warehouse:
    return Warehouse(home / "warehouse.duckdb")


def made_by(home: Path, number: int) -> list[dict[str, Any]]:
    """What one run made, as its artifacts tell, in the order of their making."""
    sql = "SELECT path FROM artifacts WHERE run_id = ? ORDER BY made_at"
    with warehouse_of(home).read() as connection:
        paths = connection.execute(sql, [number]).fetchall()
    return [json.loads((Path(path) / "artifact.json").read_text()) for (path,) in paths]


def work(made: list[dict[str, Any]]) -> tuple[int, int]:
    """Texts encoded and pairs scored."""
    encoded = [each["facts"] for each in made if each["step"] == "encode"]
    scored = [each["facts"]["new"] for each in made if each["step"] == "score"]
    return sum(each["passages_encoded"] + each["queries_encoded"] for each in encoded), sum(scored)


def mined_by(home: Path, number: int) -> Artifact:
    (row,) = artifacts_of(warehouse_of(home), number).filter((pl.col("step") == "mine") & (pl.col("round") == 1)).rows()
    return Artifact(step="mine", fingerprint=row[2], path=Path(row[3]))


def test_a_tenth_more_data_costs_a_fifth_of_the_work_at_most(grown: Path) -> None:
    """Before the retraining; a full run of the grown data would do more than the first run, so the first is held to."""
    whole, made = made_by(grown, 1), made_by(grown, 2)
    before = made[: [each["step"] for each in made].index("train")]
    (encoded, scored), (all_encoded, all_scored) = work(before), work(whole)
    assert 0 < encoded <= 0.2 * all_encoded, (encoded, all_encoded)
    assert 0 < scored <= 0.2 * all_scored, (scored, all_scored)


def test_the_candidates_are_those_of_a_fresh_mining(grown: Path, tiny_student: Path, tmp_path: Path) -> None:
    """Passages that came in have to push old ones out of old lists."""
    from flows.refresh import sections_of
    from tasks.encode import encode_corpus
    from tasks.mine.miners import Miner, Miners
    from tasks.mine.mining import mine_candidates
    from tasks.refresh.before import find_before
    from tasks.refs import Run

    mined = mined_by(grown, 2)
    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1)
    now = recipe(grown / "data", tiny_student)
    asked = Run(id=2, recipe=now.name, where=where.model_copy(update={"home": grown}))
    (miner,) = find_before(asked, sections_of(now)).miners
    fingerprint = mined.about()["inputs"]["corpus"]
    corpus = Artifact(step="ingest", fingerprint=fingerprint, path=grown / "data/artifacts/ingest" / fingerprint[:16])
    vectors = encode_corpus(where, corpus, miner)
    assert vectors.facts["passages_encoded"] == QUERIES + NEW
    fresh = Miner(system=miner.system, vectors=vectors)
    again = mine_candidates(tmp_path, corpus, Miners.first(fresh, fresh), now.mining)
    ours, theirs = (pl.read_parquet(each.file("candidates.parquet")) for each in (mined, again))
    assert ours.height == theirs.height > QUERIES
    assert ours.drop("student_score").equals(theirs.drop("student_score"))
    assert (ours["student_score"] - theirs["student_score"]).abs().max() < 1e-5
    old = pl.read_parquet(Path(mined_by(grown, 1).path) / "candidates.parquet")
    assert ours.join(old, on="query_hash", how="semi").join(old, on=["query_hash", "passage_hash"], how="anti").height


def test_every_pair_is_scored_once(grown: Path) -> None:
    twice = "SELECT count(*), count(DISTINCT (teacher_id, query_key, passage_key)) FROM teacher_scores"
    with warehouse_of(grown).read() as connection:
        ((rows, pairs),) = connection.execute(twice).fetchall()
    assert rows == pairs > 0
    assert quality(warehouse_of(grown)).height == 0


def test_the_retrain_starts_from_the_student_in_use_and_is_held_against_it(grown: Path) -> None:
    made = {each["step"]: each for each in made_by(grown, 2)}
    first = {each["fingerprint"]: each for each in made_by(grown, 1)}
    current = json.loads((grown / "data/artifacts/current/tiny.json").read_text())
    assert made["promote"]["settings"]["rule"] == "proven"
    assert made["train"]["settings"]["steps"] == 1
    assert made["train"]["inputs"]["judged 1 earlier"] in first
    promoted = made["promote"]["facts"]["promoted"]
    assert current["run"] == (2 if promoted else 1)
    with warehouse_of(grown).read() as connection:
        systems = connection.execute("SELECT DISTINCT system FROM leaderboard WHERE run = 2").fetchall()
    assert {("chance",), ("bm25",), ("base",), ("incumbent",), ("round-1",)} <= set(systems)


def test_the_retrained_student_is_diagnosed_beside_the_one_in_use(grown: Path) -> None:
    noted = report_rows.noted(warehouse_of(grown), 2)
    assert noted["system"].unique(maintain_order=True).to_list() == ["incumbent", "round-1"]


def test_nothing_changed_is_nothing_done_in_seconds(grown: Path, tiny_student: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (grown / "data/artifacts").rglob("*")}
    started = time.monotonic()
    told = refreshed(grown, tiny_student)
    assert time.monotonic() - started < 10
    assert told.sentence == "Nothing has changed since run 2."
    assert {path: path.stat().st_mtime_ns for path in (grown / "data/artifacts").rglob("*")} == before
    newest = run_rows(warehouse_of(grown)).row(0, named=True)
    assert (newest["flow"], newest["status"]) == ("refresh", "completed")


def test_labels_of_removed_passages_are_retired_and_their_scores_stay(
    grown: Path, tiny_student: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(grown, home)
    with warehouse_of(home).read() as connection:
        (before,) = connection.execute("SELECT count(*) FROM teacher_scores").fetchall()
    lines = (home / "data/corpus.jsonl").read_text().splitlines()
    (home / "data/corpus.jsonl").write_text(
        "\n".join(line for line in lines if '"n0"' not in line and '"d5"' not in line)
    )
    refreshed(home, tiny_student)
    made = {each["step"]: each for each in made_by(home, run_rows(warehouse_of(home)).height)}
    assert made["ingest"]["facts"]["retired"] == 2
    assert any(
        "2 labels of 2 passages that the corpus no longer has" in told for told in made["ingest"]["facts"]["warnings"]
    )
    with warehouse_of(home).read() as connection:
        (closed,) = connection.execute("SELECT count(*) FROM labels WHERE until IS NOT NULL").fetchall()
        (after,) = connection.execute("SELECT count(*) FROM teacher_scores").fetchall()
    assert closed == (2,)
    assert after >= before


def test_the_student_in_use_can_mine_itself_and_a_refresh_can_follow_a_refresh(
    grown: Path, tiny_student: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(grown, home)
    with (home / "data/corpus.jsonl").open("a") as passages:
        passages.write(json.dumps({"_id": "z1", "title": "", "text": "a red house of the last passage"}) + "\n")
    used = json.loads((home / "data/artifacts/current/tiny.json").read_text())
    refreshed(home, tiny_student, refresh={"miner": "incumbent", "share": 1.0, "level": 0.9})
    number = run_rows(warehouse_of(home)).height
    mined = mined_by(home, number).about()["inputs"]
    vectors = json.loads((home / "data/artifacts/encode" / mined["vectors"][:16] / "artifact.json").read_text())
    assert vectors["inputs"]["student"] == used["fingerprint"]
    assert "vectors of incumbent" in mined
    made = {each["step"]: each for each in made_by(home, number)}
    assert made["train"]["settings"]["steps"] == 4 and made["promote"]["settings"]["level"] == 0.9
    assert refreshed(home, tiny_student).sentence == f"Nothing has changed since run {number}."


def test_a_label_of_a_passage_that_never_was_is_still_refused(grown: Path, tiny_student: Path, tmp_path: Path) -> None:
    from tasks.ingest.complaints import CorpusError
    from tasks.ingest.corpus import make_corpus
    from tasks.ingest.settings import Source

    data = tmp_path / "data"
    shutil.copytree(grown / "data", data)
    with (data / "qrels" / "train.tsv").open("a") as labels:
        labels.write("\nm0\tslip\t1")
    with pytest.raises(CorpusError, match="'slip' is judged"):
        make_corpus(tmp_path, Source(path=str(data)), lambda ids: ids.filter(ids != "slip"))


def test_a_recipe_with_another_teacher_is_no_refresh(grown: Path, tiny_student: Path, tiny_teacher: Path) -> None:
    with pytest.raises(ValueError, match="teacher is not what it was in run 1"):
        found(grown, tiny_student, teacher={"model": str(tiny_teacher), "gate": "warn"})


def test_without_a_student_in_use_there_is_nothing_to_refresh(grown: Path, tiny_student: Path) -> None:
    with pytest.raises(LookupError, match="no student is in use"):
        found(grown, tiny_student, name="other")


def found(home: Path, student: Path, **changes: Any) -> None:
    from flows.refresh import sections_of
    from tasks.refresh.before import find_before
    from tasks.refs import Run

    now = recipe(home / "data", student, **changes)
    find_before(Run(id=99, recipe=now.name, where=Where(home=home)), sections_of(now))
