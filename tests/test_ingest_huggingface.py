"""Hugging Face data sets: saved folders, by column name, splits by theirs."""

from pathlib import Path

import pytest
from sources import write_jsonl

from tasks.ingest.assemble import assemble
from tasks.ingest.complaints import CorpusError
from tasks.ingest.corpus import make_corpus
from tasks.ingest.huggingface import load_tables, read_tables, tables_fingerprint
from tasks.ingest.look import look
from tasks.ingest.pairs import read_pairs
from tasks.ingest.settings import Columns, Source, detect

datasets = pytest.importorskip("datasets")

TRAIN = {"question": ["what is long", "what is wet"], "answer": ["A river is long.", "A river is wet."], "n": [1, 2]}
DEV = {"question": ["what is tall"], "answer": ["A tree is tall."], "n": [3]}
COLUMNS = Columns(query="question", passage="answer")


def save(folder: Path, **splits: dict[str, list[object]]) -> Path:
    tables = {split: datasets.Dataset.from_dict(columns) for split, columns in splits.items()}
    datasets.DatasetDict(tables).save_to_disk(str(folder))
    return folder


def test_a_saved_data_set_is_read_by_its_splits_and_columns(tmp_path: Path) -> None:
    folder = save(tmp_path / "saved", train=TRAIN, validation=DEV)
    assert detect(folder) == "huggingface"
    read = read_tables("saved", load_tables(str(folder), ""), COLUMNS)
    assert read.judgements["split"].to_list() == ["train", "train", "dev"]
    assert read.judgements.select("file", "line").rows() == [
        ("saved[train]", 1),
        ("saved[train]", 2),
        ("saved[validation]", 1),
    ]
    assert read.notes == ("columns not read: n",)


def test_it_gives_what_the_same_pairs_in_a_file_give(tmp_path: Path) -> None:
    rows = [
        {"query": query, "passage": passage, "split": split}
        for split, table in (("train", TRAIN), ("dev", DEV))
        for query, passage in zip(table["question"], table["answer"], strict=True)
    ]
    file = assemble(read_pairs(write_jsonl(tmp_path / "p.jsonl", rows), Columns(split="split")), 0.2)
    folder = save(tmp_path / "saved", train=TRAIN, validation=DEV)
    saved = assemble(read_tables("saved", load_tables(str(folder), ""), COLUMNS), 0.2)
    for name in ("passages", "passage_ids", "queries", "query_ids", "labels"):
        assert getattr(saved, name).equals(getattr(file, name)), name


def test_its_identity_is_the_rows_that_are_read(tmp_path: Path) -> None:
    """Another cache, another version of the library, another unread column: the same corpus."""
    first = load_tables(str(save(tmp_path / "a", train=TRAIN, validation=DEV)), "")
    other = load_tables(str(save(tmp_path / "b", train={**TRAIN, "n": [7, 8]}, validation=DEV)), "")
    assert tables_fingerprint(first, COLUMNS) == tables_fingerprint(other, COLUMNS)
    edited = load_tables(str(save(tmp_path / "c", train=TRAIN, validation={**DEV, "answer": ["A house."]})), "")
    assert tables_fingerprint(first, COLUMNS) != tables_fingerprint(edited, COLUMNS)
    for other_split in ("guard", "test"):
        moved = load_tables(str(save(tmp_path / other_split, train=TRAIN, **{other_split: DEV})), "")
        named = load_tables(str(save(tmp_path / f"dev-{other_split}", train=TRAIN, dev=DEV)), "")
        assert tables_fingerprint(named, COLUMNS) != tables_fingerprint(moved, COLUMNS)


def test_the_artifact_is_made_from_it(tmp_path: Path) -> None:
    folder = save(tmp_path / "saved", train=TRAIN, validation=DEV)
    artifact = make_corpus(tmp_path / "artifacts", Source(path=str(folder), columns=COLUMNS))
    assert artifact.facts["counts"]["queries"] == {"train": 2, "dev": 1}
    assert make_corpus(tmp_path / "artifacts", Source(path=str(folder), columns=COLUMNS)) == artifact


def test_missing_columns_and_unknown_splits_are_refused(tmp_path: Path) -> None:
    folder = save(tmp_path / "saved", train=TRAIN, extra=DEV)
    tables = load_tables(str(folder), "")
    with pytest.raises(CorpusError, match=r"saved\[train\]: no column 'query'"):
        read_tables("saved", {"train": tables["train"]}, Columns())
    with pytest.raises(CorpusError, match="'extra' is no split"):
        read_tables("saved", tables, COLUMNS)


def test_a_data_set_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nobody/nothing: no data set could be loaded"):
        load_tables("nobody/nothing", "")


def test_init_looks_at_a_saved_data_set(tmp_path: Path) -> None:
    found = look(save(tmp_path / "saved", train=TRAIN, validation=DEV))
    assert found.source.columns == COLUMNS
    assert found.source.kind == "huggingface"
    assert found.facts["counts"]["queries"] == {"train": 2, "dev": 1}


@pytest.mark.parametrize("place", ["data", "."])
def test_a_data_set_cloned_from_the_hub_is_read_and_an_edit_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Most data sets of the hub are Parquet files named by split and shard, not what `save_to_disk` writes."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "cloned" / place
    folder.mkdir(parents=True)
    for split, columns in (("train", TRAIN), ("validation", DEV)):
        datasets.Dataset.from_dict(columns).to_parquet(str(folder / f"{split}-00000-of-00001.parquet"))
    found = look(tmp_path / "cloned")
    assert (found.source.kind, found.source.columns) == ("huggingface", COLUMNS)
    assert found.facts["counts"]["queries"] == {"train": 2, "dev": 1}
    first = tables_fingerprint(load_tables(str(tmp_path / "cloned"), ""), COLUMNS)
    edited = datasets.Dataset.from_dict({**DEV, "answer": ["A house."]})
    edited.to_parquet(str(folder / "validation-00000-of-00001.parquet"))
    assert tables_fingerprint(load_tables(str(tmp_path / "cloned"), ""), COLUMNS) != first
