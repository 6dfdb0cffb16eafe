"""Corpora: an edited one keeps what is unchanged and closes what is gone; a wrong one is refused as a whole."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import warehouse_samples as sample

from warehouse.errors import WarehouseError
from warehouse.load import load_corpus, start_run

OPEN_IDS = (
    "SELECT external_id, text FROM passage_ids JOIN passages USING (passage_key) WHERE until IS NULL ORDER BY ALL"
)


def test_ingesting_the_same_corpus_again_changes_nothing(tmp_path: Path) -> None:
    wh, run = sample.open_warehouse(tmp_path)
    before = sample.rows(wh, "FROM passage_ids ORDER BY ALL"), sample.rows(wh, "FROM labels ORDER BY ALL")
    again = start_run(wh, "distill", "sample", "{}", {})
    assert set(load_corpus(wh, again, "toy", tmp_path / "ingest", "corpus-1").values()) == {0}
    assert sample.rows(wh, "SELECT count(*) FROM corpus_loads") == [(1,)]
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
