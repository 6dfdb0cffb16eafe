"""Loads: each file once and whole, or not at all; keys never point at another text."""

from collections.abc import Callable
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
OPEN_IDS = (
    "SELECT external_id, text FROM passage_ids JOIN passages USING (passage_key) WHERE until IS NULL ORDER BY ALL"
)


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


def test_ingesting_the_same_corpus_again_changes_nothing(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    before = sample.rows(wh, "FROM passage_ids ORDER BY ALL"), sample.rows(wh, "FROM labels ORDER BY ALL")
    again = start_run(wh, "distill", "sample", "{}", {})
    assert set(load_corpus(wh, again, "toy", tmp_path / "ingest", "corpus-1").values()) == {0}
    # Another artifact with the same content (a new code version of ingest) is the same corpus.
    assert set(load_corpus(wh, again, "toy", tmp_path / "ingest", "corpus-2").values()) == {0}
    assert (sample.rows(wh, "FROM passage_ids ORDER BY ALL"), sample.rows(wh, "FROM labels ORDER BY ALL")) == before
    assert sample.rows(wh, "SELECT run_id, corpus FROM runs ORDER BY run_id") == [(run, "toy"), (again, "toy")]


def test_an_edited_corpus_keeps_what_is_unchanged_and_closes_what_is_gone(tmp_path: Path) -> None:
    """Pitfall 3: the text behind an id was edited; what was known of the old text must stay with the old text."""
    wh, run = sample.open_warehouse(tmp_path)
    keys = dict(sample.rows(wh, "SELECT text, passage_key FROM passages"))
    passages = {**sample.PASSAGES, "d2": ("", "sour apple"), "d7": ("", "wide sea")}
    del passages["d6"]
    edited = sample.corpus(tmp_path / "edited", passages, labels=[("q1", "d1", 1), ("q2", "d3", 1)])
    counted = load_corpus(wh, run, "toy", edited, "corpus-2")
    assert counted == {
        "passages_new": 2,
        "queries_new": 0,
        "passage_ids_opened": 2,
        "passage_ids_closed": 2,
        "query_ids_opened": 0,
        "query_ids_closed": 0,
        "labels_opened": 1,
        "labels_closed": 2,
    }
    assert [row[0] for row in sample.rows(wh, OPEN_IDS)] == ["d1", "d2", "d3", "d4", "d5", "d7"]
    closed = "SELECT external_id, text FROM passage_ids JOIN passages USING (passage_key) WHERE until >= since"
    assert sorted(sample.rows(wh, closed)) == [("d2", "green apple"), ("d6", "tall tree")]
    after = dict(sample.rows(wh, "SELECT text, passage_key FROM passages"))
    assert {text: after[text] for text in keys} == keys
    assert sorted(set(after) - set(keys)) == ["sour apple", "wide sea"]
    assert sample.rows(wh, "SELECT grade, count(*) FROM labels WHERE until IS NULL GROUP BY grade") == [(1, 2)]
    # A text that no open id means keeps the id it had, for old rounds.
    shown = "SELECT text, external_id FROM passage_ids JOIN passages USING (passage_key) WHERE shown ORDER BY ALL"
    assert dict(sample.rows(wh, shown))["tall tree"] == "d6"


def test_a_restored_corpus_is_loaded_again_though_it_was_loaded_before(tmp_path: Path) -> None:
    """A ledger that only asks whether a corpus was ever loaded would leave the edited one in place."""
    wh, run = sample.open_warehouse(tmp_path)
    before = sample.rows(wh, OPEN_IDS)
    edited = sample.corpus(tmp_path / "edited", {**sample.PASSAGES, "d2": ("", "sour apple")})
    load_corpus(wh, run, "toy", edited, "corpus-2")
    assert sample.rows(wh, OPEN_IDS) != before
    counted = load_corpus(wh, run, "toy", tmp_path / "ingest", "corpus-1")
    assert (counted["passages_new"], counted["passage_ids_opened"], counted["passage_ids_closed"]) == (0, 1, 1)
    assert sample.rows(wh, OPEN_IDS) == before
    assert sample.rows(wh, "SELECT problems FROM data_quality WHERE name = 'ambiguous_ids'") == [(0,)]


def test_labels_that_people_added_survive_a_new_ingest(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    with wh.write() as con:
        con.execute(
            "INSERT INTO labels SELECT corpus, query_key, passage_key, 0, split, 'review', now(), NULL "
            "FROM labels LIMIT 1"
        )
    load_corpus(wh, run, "toy", sample.corpus(tmp_path / "edited", labels=[]), "corpus-2")
    assert sample.rows(wh, "SELECT source FROM labels WHERE until IS NULL") == [("review",)]


def test_a_text_is_the_same_text_in_another_corpus(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    other = sample.corpus(tmp_path / "other", {"x1": ("", "blue sky")}, {"y1": ("sky", "train")}, [("y1", "x1", 1)])
    counted = load_corpus(wh, run, "other", other, "corpus-9")
    assert (counted["passages_new"], counted["queries_new"], counted["passage_ids_closed"]) == (0, 0, 0)
    shown = "SELECT corpus, external_id FROM passage_ids JOIN passages USING (passage_key) WHERE text = 'blue sky'"
    assert sample.rows(wh, f"{shown} AND shown ORDER BY corpus") == [("other", "x1"), ("toy", "d3")]


BROKEN: dict[str, tuple[str, Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "collision": (
        "passages",
        lambda frame: frame.with_columns(text=pl.col("text").replace("deep sea", "shallow")),
        r"one hash for a text of the warehouse and another text.*'deep sea', 'shallow'",
    ),
    "collision inside": (
        "passages",
        lambda frame: pl.concat([frame, frame.head(1).with_columns(text=pl.lit("else"))]),
        "one hash",
    ),
    "id twice": ("query_ids", lambda frame: pl.concat([frame, frame.head(1)]), "an id stands there more than once"),
    "id of no text": (
        "passage_ids",
        lambda frame: frame.with_columns(hash=pl.col("hash") + 1),
        r"an id of a text that passages.parquet does not have \(6 times: 'd1', .*; 'd2'",
    ),
    "label of no text": (
        "labels",
        lambda frame: frame.with_columns(passage_hash=pl.lit(5, pl.Int64)),
        "a label on a passage that passages.parquet does not have",
    ),
    "label twice": ("labels", lambda frame: pl.concat([frame, frame]), "one source labels a pair more than once"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_corpus_that_would_point_at_the_wrong_text_is_refused_as_a_whole(tmp_path: Path, fault: str) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    file, spoil, sentence = BROKEN[fault]
    folder = sample.corpus(tmp_path / "edited", {**sample.PASSAGES, "d7": ("", "wide sea")})
    if fault.startswith("id of"):
        folder = sample.corpus(tmp_path / "same")
    spoil(pl.read_parquet(folder / f"{file}.parquet")).write_parquet(folder / f"{file}.parquet")
    with pytest.raises(WarehouseError, match=sentence):
        load_corpus(wh, run, "toy", folder, "corpus-2")
    assert sample.rows(wh, "SELECT count(*) FROM passages") == [(5,)]
    assert sample.rows(wh, "SELECT count(*) FROM corpus_loads") == [(1,)]


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
