"""Loads: each file once and whole, or not at all; keys never point at another text."""

from pathlib import Path

import polars as pl
import pytest
import warehouse_samples as sample

from warehouse.connect import Warehouse
from warehouse.errors import WarehouseError
from warehouse.load import (
    finish_run,
    link_round,
    load_candidates,
    load_corpus,
    load_diagnostics,
    load_history,
    load_query_metrics,
    load_scores,
    register_artifact,
    register_model,
    start_run,
)
from warehouse.queries import pending_pairs, run_rows, stored_scores
from warehouse.texts import text_hash

FACTS = ("teacher_scores", "candidates", "verdicts", "metrics", "shard_loads")


def counts(wh: Warehouse) -> list[int]:
    return [sample.rows(wh, f"SELECT count(*) FROM {table}")[0][0] for table in FACTS]


def told(wh: Warehouse) -> list[tuple[object, ...]]:
    """Every score by the texts it is about."""
    return sample.rows(
        wh,
        "SELECT q.text, p.text, s.logit FROM teacher_scores AS s JOIN queries AS q USING (query_key) "
        "JOIN passages AS p USING (passage_key) ORDER BY ALL",
    )


def test_loading_the_same_files_again_changes_nothing(tmp_path: Path) -> None:
    """An unchanged re-run delivers everything once more."""
    wh, run = sample.open_warehouse(tmp_path)
    sample.play_round(wh, run, tmp_path)
    before = counts(wh)
    assert before == [8, 6, 8, 2, 4]
    sample.play_round(wh, run, tmp_path)
    assert counts(wh) == before
    assert sample.rows(wh, "SELECT count(*) FROM artifacts") == [(4,)]
    assert sample.rows(wh, "SELECT count(*) FROM rounds") == [(4,)]


def test_scores_that_are_there_are_not_loaded_twice_under_another_name(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    register_model(wh, "teacher", "big", "t1", {})
    register_model(wh, "teacher", "other", "t2", {})
    some = {pair: sample.LOGITS[pair] for pair in list(sample.LOGITS)[:3]}
    assert load_scores(wh, run, "t1", sample.scores(tmp_path / "a.parquet", some), "a", {}) == 3
    everything = sample.scores(tmp_path / "b.parquet")
    assert load_scores(wh, run, "t1", everything, "b", {"device": "cpu", "versions": {"torch": "2"}}) == 5
    assert load_scores(wh, run, "t1", everything, "b", {}) == 0
    # Another teacher's scores of the same pairs are other scores.
    assert load_scores(wh, run, "t2", everything, "c", {}) == 8
    assert sample.rows(wh, "SELECT name, n_rows, n_new, device FROM shard_loads ORDER BY name") == [
        ("a", 3, 3, None),
        ("b", 8, 5, "cpu"),
        ("c", 8, 8, None),
    ]


def test_pending_and_stored_pairs_together_are_the_pairs_asked_for(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    asked = [(sample.query_hash(q), sample.passage_hash(d)) for q, d in sample.LOGITS]
    pairs = sample.frame(tmp_path / "pairs.parquet", [*asked, asked[0]], ("query_hash", "passage_hash"))
    assert pending_pairs(wh, "t1", pairs).rows() == sorted(asked)
    assert stored_scores(wh, "t1", pairs).is_empty()
    register_model(wh, "teacher", "big", "t1", {})
    register_model(wh, "student", "small", "t1", {})
    some = {pair: sample.LOGITS[pair] for pair in [("q1", "d1"), ("q2", "d6")]}
    load_scores(wh, run, "t1", sample.scores(tmp_path / "a.parquet", some), "a", {})
    there = stored_scores(wh, "t1", pairs)
    wanted = [(sample.query_hash(q), sample.passage_hash(d), logit, 7, False) for (q, d), logit in some.items()]
    assert there.rows() == sorted(wanted)
    assert there.columns == ["query_hash", "passage_hash", "logit", "n_tokens", "truncated"]
    pending = pending_pairs(wh, "t1", pairs)
    assert pending.rows() == sorted(set(asked) - set(there.select("query_hash", "passage_hash").rows()))
    assert pending.schema == {"query_hash": pl.Int64, "passage_hash": pl.Int64}
    assert pending_pairs(wh, "t2", pairs).height == 8


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf"), None])
def test_a_logit_that_is_no_number_is_named_and_nothing_is_loaded(tmp_path: Path, bad: float) -> None:
    """Pitfall 11: NaN or infinite logits from the teacher."""
    wh, run = sample.open_warehouse(tmp_path)
    register_model(wh, "teacher", "big", "t1", {})
    shard = sample.scores(tmp_path / "a.parquet", {**sample.LOGITS, ("q2", "d5"): bad})
    with pytest.raises(WarehouseError, match=r"a\.parquet: 1 logits.*'sky' and passage .* 'deep sea'.*nothing"):
        load_scores(wh, run, "t1", shard, "a", {})
    assert counts(wh) == [0, 0, 0, 0, 0]


def test_a_shard_that_names_unknown_texts_is_refused_as_a_whole(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    register_model(wh, "teacher", "big", "t1", {})
    columns = ("query_hash", "passage_hash", "logit", "n_tokens", "truncated")
    known, lost = sample.passage_hash("d1"), text_hash("never seen")
    rows = [(sample.query_hash("q1"), passage, 1.0, 7, False) for passage in (known, lost, lost + 1)]
    shard = sample.frame(tmp_path / "a.parquet", rows, columns)
    with pytest.raises(WarehouseError, match=r"2 rows point at a passage.*passage_hash -?\d+, -?\d+.*nothing was"):
        load_scores(wh, run, "t1", shard, "a", {})
    assert counts(wh) == [0, 0, 0, 0, 0]


def test_a_pair_that_is_twice_in_a_shard_is_refused(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    register_model(wh, "teacher", "big", "t1", {})
    shard = sample.scores(tmp_path / "a.parquet")
    pl.concat([pl.read_parquet(shard), pl.read_parquet(shard).head(1)]).write_parquet(shard)
    with pytest.raises(WarehouseError, match=r"query_hash .* stands there 2 times"):
        load_scores(wh, run, "t1", shard, "a", {})
    assert counts(wh) == [0, 0, 0, 0, 0]


def test_a_pair_that_is_twice_in_a_long_shard_is_found_wherever_it_stands(tmp_path: Path) -> None:
    """Repeats are looked for among neighbours, so rows must really lie in order, also where many threads read."""
    wh, run = sample.open_warehouse(tmp_path)
    register_model(wh, "teacher", "big", "t1", {})
    passages = {f"p{number}": ("", f"passage number {number}") for number in range(1500)}
    queries = {f"q{number}": (f"query number {number}", "train") for number in range(200)}
    load_corpus(wh, run, "many", sample.corpus(tmp_path / "many", passages, queries, []), "corpus-2")
    hashes = [pl.read_parquet(tmp_path / "many" / f"{name}.parquet")["hash"] for name in ("queries", "passages")]
    pairs = hashes[0].to_frame("query_hash").join(hashes[1].to_frame("passage_hash"), how="cross")
    scores = pairs.sample(fraction=1.0, shuffle=True, seed=1).with_columns(logit=0.5, n_tokens=7, truncated=False)
    shard = tmp_path / "long.parquet"
    for twice in (0, 150_000, 299_999):
        pl.concat([scores, scores[twice : twice + 1]]).write_parquet(shard, row_group_size=20_000)
        named = f"query_hash {scores[twice, 0]}, passage_hash {scores[twice, 1]} stands there 2 times"
        with pytest.raises(WarehouseError, match=named):
            load_scores(wh, run, "t1", shard, "long", {})
    assert counts(wh) == [0, 0, 0, 0, 0]


def test_scores_lie_in_the_order_of_their_keys_also_beside_those_that_are_there(tmp_path: Path) -> None:
    """Unsorted, they take a third more room, and a query is read from everywhere."""
    wh, run = sample.open_warehouse(tmp_path)
    register_model(wh, "teacher", "big", "t1", {})
    some = {pair: sample.LOGITS[pair] for pair in [("q1", "d3"), ("q2", "d5")]}
    load_scores(wh, run, "t1", sample.scores(tmp_path / "a.parquet", some), "a", {})
    assert load_scores(wh, run, "t1", sample.scores(tmp_path / "b.parquet"), "b", {}) == 6
    keys = sample.rows(wh, "SELECT query_key, passage_key FROM teacher_scores")
    assert keys[:2] == sorted(keys[:2]) and keys[2:] == sorted(keys[2:]) and len(set(keys)) == 8


def test_scores_of_a_teacher_that_is_not_registered_are_refused(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    register_model(wh, "student", "small", "t1", {})
    with pytest.raises(WarehouseError, match="t1 is not registered"):
        load_scores(wh, run, "t1", sample.scores(tmp_path / "a.parquet"), "a", {})


def test_a_file_without_its_columns_or_with_impossible_values_is_refused(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    artifact = register_artifact(wh, run, sample.about("mine", "m1"), "somewhere")
    pair = (sample.query_hash("q1"), sample.passage_hash("d2"))
    names = ("query_hash", "passage_hash", "rank", "student_score", "miner")
    short = sample.frame(tmp_path / "short.parquet", [(*pair, 1, 0.5)], names[:4])
    with pytest.raises(WarehouseError, match=r"short\.parquet: candidates needs the columns query_hash, .* miner"):
        load_candidates(wh, run, artifact, short, "m1/short")
    zero = sample.frame(tmp_path / "zero.parquet", [(*pair, 0, 0.5, "warm")], names)
    with pytest.raises(WarehouseError, match=r"zero\.parquet: a value does not fit candidates.*rank"):
        load_candidates(wh, run, artifact, zero, "m1/zero")
    with pytest.raises(WarehouseError, match="artifact 99 is not registered"):
        load_candidates(wh, run, 99, zero, "m1/zero")
    assert counts(wh) == [0, 0, 0, 0, 0]


def test_measures_per_query_notes_and_the_course_of_training_are_loaded(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    artifact = register_artifact(wh, run, sample.about("train", "a1"), "somewhere")
    per_query = [("base", "test", sample.query_hash("q3"), "nDCG@10", 0.5)]
    columns: tuple[str, ...] = ("system", "split", "query_hash", "measure", "value")
    file = sample.frame(tmp_path / "q.parquet", per_query, columns)
    assert [load_query_metrics(wh, run, artifact, file, "a1/q") for _ in range(2)] == [1, 0]
    file = sample.frame(tmp_path / "d.parquet", [("moved ranks", 0.25, None)], ("name", "value", "note"))
    assert [load_diagnostics(wh, run, artifact, file, "a1/d") for _ in range(2)] == [1, 0]
    course = [(1, 0.5, 2.25, None, 0.5, 100), (2, 1.0, 1.75, 0.625, 1.0, 200)]
    columns = ("step", "epoch", "loss", "measure", "seconds", "tokens")
    file = sample.frame(tmp_path / "h.parquet", course, columns)
    assert [load_history(wh, run, artifact, file, "a1/h") for _ in range(2)] == [2, 0]
    assert sample.rows(wh, "SELECT step, epoch, loss, measure, seconds, tokens FROM history ORDER BY step") == course
    query = "SELECT text, value FROM query_metrics JOIN queries USING (query_key)"
    assert sample.rows(wh, query) == [("sea", 0.5)]


def test_a_deleted_warehouse_is_filled_again_from_the_same_files_with_the_same_meaning(tmp_path: Path) -> None:
    """Keys are handed out anew; files name texts by hash, so no score may land on another text."""
    wh, run = sample.open_warehouse(tmp_path)
    edited = sample.corpus(tmp_path / "edited", {**sample.PASSAGES, "d0": ("", "a first passage")})
    sample.play_round(wh, run, tmp_path)
    before, listed = told(wh), sample.rows(wh, "FROM training_lists ORDER BY ALL")
    keys = sample.rows(wh, "SELECT text, passage_key FROM passages ORDER BY ALL")
    wh.path.unlink()
    run = start_run(wh, "distill", "sample", "{}", {})
    load_corpus(wh, run, "toy", edited, "corpus-2")
    sample.play_round(wh, run, tmp_path)
    assert told(wh) == before
    assert sample.rows(wh, "FROM training_lists ORDER BY ALL") == listed
    again = [row for row in sample.rows(wh, "SELECT text, passage_key FROM passages ORDER BY ALL") if row in keys]
    assert len(again) < len(keys), "the keys did not move, so this test shows nothing"


def test_an_error_inside_a_write_leaves_nothing(tmp_path: Path) -> None:
    """Pitfall 4: an interrupted step leaves half a row set that the next run takes for whole."""
    wh, _ = sample.open_warehouse(tmp_path)
    with pytest.raises(KeyboardInterrupt), wh.write() as con:
        con.execute("DELETE FROM passages")
        con.execute("INSERT INTO metrics VALUES (1, 'base', 'dev', 'AP', 0.5, NULL, 1)")
        raise KeyboardInterrupt
    assert sample.rows(wh, "SELECT (SELECT count(*) FROM passages), (SELECT count(*) FROM metrics)") == [(5, 0)]


def test_runs_end_once_with_a_known_status(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    finish_run(wh, run, "failed", "the disk is full")
    assert run_rows(wh).select("run", "status", "error").rows() == [(run, "failed", "the disk is full")]
    with pytest.raises(ValueError, match="'done'"):
        finish_run(wh, run, "done", None)
    with pytest.raises(WarehouseError, match="no run_id 99"):
        finish_run(wh, 99, "completed", None)


def test_models_and_artifacts_are_the_same_by_fingerprint(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    teacher = register_model(wh, "teacher", "big", "f1", {"a": 1.0, "b": 0.0, "max_length": 128})
    assert register_model(wh, "teacher", "big again", "f1", {"a": 2.0, "b": -1.0, "path": tmp_path}) == teacher
    assert (
        register_model(wh, "student", "small", "f1", {"similarity": "cosine", "prompts": {"query": "q: "}}) != teacher
    )
    found = sample.rows(wh, f"SELECT name, a, b, max_length, path FROM models WHERE model_id = {teacher}")
    assert found == [("big", 2.0, -1.0, 128, str(tmp_path))]
    assert sample.rows(wh, "SELECT prompts FROM models WHERE role = 'student'") == [('{"query": "q: "}',)]
    with pytest.raises(ValueError, match="got lenght"):
        register_model(wh, "teacher", "big", "f2", {"lenght": 3})
    artifact = register_artifact(wh, run, sample.about("mine", "m1", seeds=3), "here")
    assert register_artifact(wh, run, sample.about("mine", "m1"), "there") == artifact
    assert sample.rows(wh, "SELECT path, facts FROM artifacts") == [("there", '{"seeds": 3}')]
    with pytest.raises(WarehouseError, match="no artifact_id 99"):
        link_round(wh, run, 1, "mine", 99)
