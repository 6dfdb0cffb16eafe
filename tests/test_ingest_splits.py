"""Splits: one per query text, dev from train where there is none, leaks counted."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from sources import LABELS, PASSAGES, QUERIES, Labels, write_beir, write_jsonl

from tasks.ingest.assemble import Corpus, assemble
from tasks.ingest.beir import read_beir
from tasks.ingest.complaints import CorpusError
from tasks.ingest.pairs import read_pairs
from tasks.ingest.settings import Columns
from tasks.ingest.splits import point, settle_splits
from warehouse.texts import text_hash


def corpus(folder: Path, queries: Mapping[str, str], labels: Labels, qrels: Mapping[str, str] | None = None) -> Corpus:
    return assemble(read_beir(write_beir(folder, PASSAGES, queries, labels), qrels or {}), 0.2)


def split_of(made: Corpus, text: str) -> str:
    return str(made.queries.filter(pl.col("text") == text)["split"].item())


def test_a_query_text_shared_with_dev_or_test_leaves_train_and_is_counted(tmp_path: Path) -> None:
    """Pitfall 37: train and test sharing a query text."""
    queries = {**QUERIES, "a": "what is tall", "b": "what is red"}
    labels = {**LABELS, "train": [("q1", "d1", "1"), ("a", "d1", "1"), ("a", "d3", "1"), ("b", "d2", "1")]}
    made = corpus(tmp_path, queries, labels)
    assert made.labels.filter(pl.col("split") == "train")["query_hash"].to_list() == [text_hash("what is long")]
    assert split_of(made, "what is tall") == "dev"
    assert split_of(made, "what is red") == "test"
    dev = made.labels.filter(pl.col("split") == "dev")
    assert dev.select("query_hash", "passage_hash").rows() == [
        (text_hash("what is tall"), text_hash("A tree is tall."))
    ]
    warnings = made.facts["warnings"]
    assert "1 query text of train also in dev: 2 labels left train" in warnings
    assert "1 query text of train also in test: 1 label left train" in warnings
    ids = dict(made.query_ids.select("external_id", "split").iter_rows())
    assert ids == {"q1": "train", "q2": "dev", "q3": "test", "a": "", "b": ""}


def test_a_query_text_in_dev_and_test_stays_in_test(tmp_path: Path) -> None:
    """Pitfall 39c: dev chooses, so it must not choose by what test measures."""
    labels = {**LABELS, "dev": [("q2", "d2", "2"), ("a", "d1", "1")]}
    made = corpus(tmp_path, {**QUERIES, "a": "what is red"}, labels)
    assert split_of(made, "what is red") == "test"
    assert "1 query text of dev also in test: 1 label left dev" in made.facts["warnings"]
    assert made.facts["counts"]["labels"] == {"train": 1, "dev": 1, "test": 2}


def test_guard_gives_way_to_test_and_stays_before_dev(tmp_path: Path) -> None:
    queries = {**QUERIES, "a": "what is red", "b": "what is tall", "c": "what is blue"}
    labels = {**LABELS, "dev": [("q2", "d2", "1"), ("c", "d1", "1")], "guard": [("a", "d1", "1"), ("b", "d1", "1")]}
    made = corpus(tmp_path, queries, labels, {"guard": "guard.tsv"})
    assert (split_of(made, "what is red"), split_of(made, "what is tall")) == ("test", "guard")
    assert split_of(made, "what is blue") == "dev"


def test_equal_texts_in_one_split_merge_their_labels(tmp_path: Path) -> None:
    labels = {**LABELS, "train": [("q1", "d1", "1"), ("a", "d2", "1"), ("a", "d1", "3")]}
    made = corpus(tmp_path, {**QUERIES, "a": "what is long"}, labels)
    train = made.labels.filter(pl.col("split") == "train").select("passage_hash", "grade").sort("grade")
    assert train.rows() == [(text_hash("A tree is tall."), 1), (text_hash("Rivers A river is long."), 3)]
    assert any("1 pair of equal texts under several ids with several grades" in note for note in made.facts["warnings"])
    assert made.query_ids["split"].to_list() == ["train", "dev", "test", "train"]


def test_unlabelled_queries_stay_without_a_split(tmp_path: Path) -> None:
    made = corpus(tmp_path, {**QUERIES, "a": "what is blue"}, LABELS)
    assert split_of(made, "what is blue") == ""
    assert made.facts["counts"]["queries"] == {"train": 1, "dev": 1, "test": 1, "unlabelled": 1}


def many(number: int) -> pl.DataFrame:
    hashes = pl.Series("query_hash", [text_hash(f"query {n}") for n in range(number)], dtype=pl.Int64)
    return pl.DataFrame([hashes]).with_columns(split=pl.lit(""), grade=pl.lit(1, pl.Int32), source=pl.lit("given"))


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_without_dev_a_share_of_train_becomes_dev_by_hash(share: float) -> None:
    kept, notes = settle_splits(many(5000), share)
    dev = kept.filter(pl.col("split") == "dev").height
    assert abs(dev / 5000 - share) < 0.02
    assert notes[0] == f"no dev split: {dev:,} of 5,000 train queries became dev, chosen by hash"
    assert notes[1].startswith("no test split")


def sides(judged: pl.DataFrame) -> dict[int, str]:
    return dict(settle_splits(judged, 0.2)[0].select("query_hash", "split").iter_rows())


def test_a_query_keeps_its_side_when_others_come_and_go() -> None:
    few = sides(many(200))
    more = sides(many(900).sample(fraction=1.0, shuffle=True, seed=1))
    assert set(few.values()) == {"train", "dev"}
    assert few == {name: "dev" if point(name) < 0.2 else "train" for name in few}
    assert {name: more[name] for name in few} == few


def test_the_side_of_a_query_is_the_same_in_every_process() -> None:
    """Pitfall 5. The value is blake2b over the 8 little-endian bytes of the hash, computed apart from this code."""
    assert point(0) == pytest.approx(0.16211500554345548)


def test_with_dev_nothing_is_moved(tmp_path: Path) -> None:
    made = corpus(tmp_path, QUERIES, LABELS)
    assert not any("became dev" in note or "no test" in note for note in made.facts["warnings"])


def test_dev_is_not_made_of_train_when_all_of_it_left_for_test(tmp_path: Path) -> None:
    labels = {**LABELS, "dev": [("a", "d1", "1")]}
    with pytest.raises(CorpusError, match="no query of dev has a label"):
        corpus(tmp_path, {**QUERIES, "a": "what is red"}, labels)


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_split_without_positives_is_refused(tmp_path: Path, split: str) -> None:
    with pytest.raises(CorpusError, match=f"no query of {split} has a label with a grade above 0"):
        corpus(tmp_path, QUERIES, {**LABELS, split: [("q1" if split == "train" else "q2", "d1", "0")]})


def test_pairs_whose_query_is_in_two_splits_follow_the_text(tmp_path: Path) -> None:
    rows = [("a", "x", "train"), ("b", "y", "train"), ("b", "z", "test"), ("c", "x", "dev")]
    path = write_jsonl(tmp_path / "p.jsonl", [{"query": q, "passage": p, "split": s} for q, p, s in rows])
    made = assemble(read_pairs(path, Columns(split="split")), 0.2)
    assert made.facts["counts"]["labels"] == {"train": 1, "dev": 1, "test": 1}
    assert dict(made.query_ids.join(made.queries, on="hash").select("text", "split").iter_rows()) == {
        "a": "train",
        "b": "test",
        "c": "dev",
    }


def test_measured_queries_whose_only_positives_are_taught_are_counted(tmp_path: Path) -> None:
    """Pitfall 37: a passage's only label."""
    queries = {**QUERIES, "a": "what flows", "b": "what stands"}
    labels = {
        **LABELS,
        "test": [("q3", "d3", "1"), ("a", "d1", "1"), ("b", "d1", "1"), ("b", "d3", "1"), ("q3", "d1", "0")],
    }
    notes = corpus(tmp_path, queries, labels).facts["warnings"]
    assert [note for note in notes if "only positives" in note] == [
        "1 of 3 test queries with only positives that train queries are labelled with too: "
        "part of the measure is memory of passages"
    ]


def test_measured_queries_without_a_positive_are_counted(tmp_path: Path) -> None:
    labels = {**LABELS, "test": [("q3", "d3", "0"), ("a", "d3", "1")]}
    notes = corpus(tmp_path, {**QUERIES, "a": "what flows"}, labels).facts["warnings"]
    assert "1 of 2 test queries without a label above grade 0" in notes
