"""No score is another model's or another text's, and whoever holds the warehouse is named."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest
from other_program import hold
from safetensors.torch import load_file, save_file
from scoring_bench import KEYS, PASSAGES, QUERIES, Bench, Counting, open_bench

from tasks.record import warehouse_of
from tasks.refs import TeacherRef
from tasks.teach.settings import TeacherSettings
from tasks.teach.teaching import ready_teachers


def read_json(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.read_text("utf-8"))
    return found


def weights(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors["classifier.bias"] += 0.5
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def tokenizer(folder: Path) -> None:
    about = read_json(folder / "tokenizer.json")
    vocabulary = about["model"]["vocab"]  # type: ignore[index]
    vocabulary["river"], vocabulary["dog"] = vocabulary["dog"], vocabulary["river"]
    (folder / "tokenizer.json").write_text(json.dumps(about), "utf-8")


def max_length(folder: Path) -> None:
    about = read_json(folder / "tokenizer_config.json")
    (folder / "tokenizer_config.json").write_text(json.dumps({**about, "model_max_length": 24}), "utf-8")


@pytest.mark.parametrize("change", [weights, tokenizer, max_length, None])
def test_a_teacher_that_changed_in_its_place_is_another_model_with_scores_of_its_own(
    tmp_path: Path, tiny_teacher: Path, change: Callable[[Path], None] | None
) -> None:
    """Pitfalls 1 and 3: scores kept under a folder's name are served for the weights that lie there now."""
    folder = shutil.copytree(tiny_teacher, tmp_path / "teacher")
    bench = open_bench(tmp_path / "home", ready_teachers(TeacherSettings(model=[str(folder)]))[0])
    pairs = bench.pairs(list(QUERIES), PASSAGES)
    old = pl.read_parquet(bench.score(pairs).file("scores.parquet"))
    if change:
        change(folder)
    settings = TeacherSettings(model=str(folder), max_length=0 if change else 20)
    (bench.teacher,) = ready_teachers(settings)
    artifact = bench.score(pairs)
    new = pl.read_parquet(artifact.file("scores.parquet"))
    assert (artifact.facts["new"], artifact.facts["reused"]) == (180, 0)
    assert not new["logit"].equals(old["logit"])
    with warehouse_of(bench.run.where).read() as connection:
        rows = connection.sql(
            "SELECT m.fingerprint, count(*) FROM models AS m JOIN teacher_scores AS s ON s.teacher_id = m.model_id "
            "WHERE m.role = 'teacher' GROUP BY ALL"
        ).fetchall()
    assert len(rows) == 2 and {count for _, count in rows} == {180}


def told(bench: Bench) -> dict[tuple[str, str], float]:
    """Every logit in the warehouse by its texts."""
    with warehouse_of(bench.run.where).read() as connection:
        rows = connection.sql(
            "SELECT q.text, p.text, s.logit FROM teacher_scores AS s JOIN queries AS q USING (query_key) "
            "JOIN passages AS p USING (passage_key)"
        ).fetchall()
    assert len({row[:2] for row in rows}) == len(rows)
    return {(query, passage): logit for query, passage, logit in rows}


def test_a_warehouse_from_a_backup_gets_what_it_lacks_and_nothing_lands_on_another_text(
    tmp_path: Path, tiny_teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys are handed out anew after the backup; shards and artifacts are younger than it."""
    counting = Counting(monkeypatch)
    teacher = TeacherRef(fingerprint="teacher-one-fingerprint", path=tiny_teacher, name="tiny")
    bench = open_bench(tmp_path, teacher, PASSAGES[:10])
    bench.score(bench.pairs(list(QUERIES), PASSAGES[:10]))
    path = bench.run.where.warehouse_path
    shutil.copy(path, tmp_path / "backup")
    later = open_bench(tmp_path, teacher)
    pairs = later.pairs(list(QUERIES), PASSAGES)
    scores = pl.read_parquet(later.score(pairs).file("scores.parquet"))
    before = told(later)
    assert len(before) == scores.height == 180
    shutil.copy(tmp_path / "backup", path)
    counting.pairs.clear()
    # Other texts take the keys that the later passages had.
    open_bench(tmp_path, teacher, [*PASSAGES[:10], *(f"a text of another day {number}" for number in range(40))])
    restored = open_bench(tmp_path, teacher)
    assert pl.read_parquet(restored.score(pairs).file("scores.parquet")).equals(scores)
    assert counting.pairs == [] and told(restored) == before


def test_a_deadline_with_somebody_in_the_warehouse_names_them_and_keeps_the_shards(
    tmp_path: Path, tiny_teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pitfall 45: a forgotten shell costs the loading of what was scored, never the scoring."""
    counting = Counting(monkeypatch)
    bench = open_bench(tmp_path, TeacherRef(fingerprint="teacher-one-fingerprint", path=tiny_teacher, name="tiny"))
    where = bench.run.where.model_copy(update={"lock_seconds": 1.0})
    bench.run = bench.run.model_copy(update={"where": where})
    pairs = bench.pairs(list(QUERIES), PASSAGES)
    others = []

    def before(_: Sequence[tuple[str, str]]) -> None:
        if not others:
            others.append(hold(where.warehouse_path, "write", 60))

    counting.before = before
    named = r"shards are kept in .*held for \d+ s by process {} \(\S*python.*, running since 20\d\d-.*run again to load"
    with pytest.raises(RuntimeError) as caught:
        bench.score(pairs)
    (other,) = others
    assert caught.match(named.format(other.pid))
    assert len(counting.pairs) == 180 and len(bench.shard_files()) == 4
    other.kill()
    other.wait()
    counting.pairs.clear()
    scores = pl.read_parquet(bench.score(pairs).file("scores.parquet"))
    assert counting.pairs == []
    assert scores.select(KEYS).equals(pl.read_parquet(pairs.file("pairs.parquet")).sort(KEYS))
