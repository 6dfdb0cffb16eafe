"""Sets that are measured on alone: no train, no dev, one split."""

from pathlib import Path

import polars as pl
import pytest
from sources import LABELS, write_beir, write_jsonl

from tasks.evaluate.tables import read_judged
from tasks.ingest.complaints import CorpusError
from tasks.ingest.corpus import make_corpus
from tasks.ingest.settings import MeasuredSource, Source


def splits(root: Path, source: Source) -> dict[str, int]:
    labels = pl.read_parquet(make_corpus(root, source).file("labels.parquet"))
    return dict(labels.group_by("split").len().iter_rows())


def test_test_is_measured_and_the_rest_left_out(tmp_path: Path) -> None:
    data = str(write_beir(tmp_path / "data"))
    assert splits(tmp_path, MeasuredSource(path=data)) == {"test": 2}
    assert splits(tmp_path, MeasuredSource(path=data, labels="train", as_split="guard")) == {"guard": 1}
    assert set(splits(tmp_path, Source(path=data))) == {"train", "dev", "test"}


def test_one_label_file_is_enough(tmp_path: Path) -> None:
    """Most public test sets have no train labels; they would be refused."""
    data = write_beir(tmp_path / "data", labels={"dev": LABELS["dev"]})
    assert splits(tmp_path, MeasuredSource(path=str(data))) == {"test": 1}
    with pytest.raises(FileNotFoundError, match=r"train\.tsv"):
        make_corpus(tmp_path, Source(path=str(data)))
    (data / "qrels" / "dev.tsv").unlink()
    with pytest.raises(FileNotFoundError, match=r"test\.tsv.*needs corpus\.jsonl, queries\.jsonl and qrels/test\.tsv"):
        make_corpus(tmp_path, MeasuredSource(path=str(data)))


def test_pairs_without_splits_are_all_measured(tmp_path: Path) -> None:
    pairs = write_jsonl(tmp_path / "pairs.jsonl", [{"query": f"q{n}", "passage": f"p{n}"} for n in range(5)])
    assert splits(tmp_path, MeasuredSource(path=str(pairs))) == {"test": 5}


def test_the_one_split_is_what_systems_are_measured_on(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path, MeasuredSource(path=str(write_beir(tmp_path / "data")), as_split="guard"))
    judged = read_judged(corpus)
    assert set(judged.splits) == {"guard"} and len(judged.queries) == 1


def test_labels_that_are_not_there_are_named(tmp_path: Path) -> None:
    data = write_beir(tmp_path / "data", labels={"test": [("q3", "d1", "0")], "dev": LABELS["dev"]})
    with pytest.raises(CorpusError, match=r"no label of test has a grade above 0 \(there are some of: dev"):
        make_corpus(tmp_path, MeasuredSource(path=str(data), labels="test"))
    assert splits(tmp_path, MeasuredSource(path=str(data))) == {"test": 1}
