"""Scored pairs come back to whoever asked: as files, and as a sentence."""

import json
import logging
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scoring_bench import PASSAGES, open_bench
from scoring_desk import ASKED, Desk, by_id, by_text
from sources import write_jsonl

from tasks.deliver.writing import check_out
from tasks.refs import TeacherRef


@pytest.fixture
def teacher(tiny_teacher: Path) -> TeacherRef:
    return TeacherRef(fingerprint="teacher-one-fingerprint", path=tiny_teacher, name="tiny")


@pytest.fixture
def desk(tmp_path: Path, teacher: TeacherRef) -> Desk:
    return Desk(open_bench(tmp_path / "home", teacher))


def test_the_pairs_come_back_as_they_came_with_their_logits(desk: Desk, tmp_path: Path, tiny_teacher: Path) -> None:
    """Pitfall 7: probabilities under the name of logits; and a row order that no longer fits the file's."""
    from sentence_transformers import CrossEncoder
    from torch import nn

    rows = [
        {"n": number, "passage": PASSAGES[number % 7], "query": ASKED[number % 5], "note": 'a "b", c\nd'}
        for number in range(40)
    ]
    path = write_jsonl(tmp_path / "texts.jsonl", rows)
    named = [(str(row["query"]), str(row["passage"])) for row in rows]
    expected = CrossEncoder(str(tiny_teacher), device="cpu").predict(named, activation_fn=nn.Identity())
    readers = {".parquet": pl.read_parquet, ".csv": pl.read_csv, ".jsonl": pl.read_ndjson}
    for suffix, read in readers.items():
        receipt = desk.score(path, tmp_path / f"out{suffix}")
        written = read(tmp_path / f"out{suffix}")
        assert written.drop("logit", "n_tokens", "truncated").rows(named=True) == rows
        np.testing.assert_allclose(written["logit"].to_numpy(), expected, atol=1e-5)
        assert written["n_tokens"].min() > 3 and written["truncated"].dtype == pl.Boolean  # type: ignore[operator]
        assert (receipt.rows, receipt.pairs) == (40, 35)
    assert sorted(item.name for item in tmp_path.glob("*out*")) == ["out.csv", "out.jsonl", "out.parquet"]


def test_a_trec_run_is_ranked_by_logit(desk: Desk, tmp_path: Path) -> None:
    path = by_id(tmp_path / "ids.jsonl", [2, 0], range(8))
    desk.score(path, tmp_path / "out.trec")
    desk.score(path, tmp_path / "out.jsonl")
    lines = [line.split(" ") for line in (tmp_path / "out.trec").read_text("utf-8").splitlines()]
    assert [line[0] for line in lines] == ["q2"] * 8 + ["q0"] * 8
    assert [int(line[3]) for line in lines] == [*range(1, 9)] * 2
    assert {(line[1], line[5]) for line in lines} == {("Q0", "remine")}
    logits = {
        (row["query_id"], row["passage_id"]): row["logit"]
        for row in pl.read_ndjson(tmp_path / "out.jsonl").rows(named=True)
    }
    for query in ("q2", "q0"):
        best = sorted((name for name in logits if name[0] == query), key=lambda name: -logits[name])
        assert [(line[0], line[2]) for line in lines if line[0] == query] == best
    assert all(float(line[4]) == pytest.approx(logits[line[0], line[2]]) for line in lines)


def test_of_several_texts_under_one_id_a_trec_run_takes_the_best(desk: Desk, tmp_path: Path) -> None:
    """An id twice under one query is refused by trec_eval; parts of a document count with the best of them."""
    rows = [{"query_id": "q", "query": ASKED[0], "passage_id": "d", "passage": text} for text in PASSAGES[:5]]
    desk.score(write_jsonl(tmp_path / "parts.jsonl", rows), tmp_path / "out.trec")
    desk.score(tmp_path / "parts.jsonl", tmp_path / "out.parquet")
    (line,) = (tmp_path / "out.trec").read_text("utf-8").splitlines()
    assert float(line.split()[4]) == pytest.approx(pl.read_parquet(tmp_path / "out.parquet")["logit"].max())


def test_ids_with_blanks_do_not_become_a_trec_run(desk: Desk, tmp_path: Path) -> None:
    """Pitfall 4: the file that was there is not spoilt by one that cannot be written."""
    out = tmp_path / "out.trec"
    out.write_text("precious", "utf-8")
    row = {"query_id": "q 1", "query": ASKED[0], "passage": PASSAGES[0]}
    with pytest.raises(ValueError, match=r"1 rows have blanks in their query_id, first 'q 1'.*the scores are kept"):
        desk.score(write_jsonl(tmp_path / "p.jsonl", [row]), out)
    assert out.read_text("utf-8") == "precious"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["home", "out.trec", "p.jsonl"]


def test_logits_that_came_are_replaced_with_a_warning(
    desk: Desk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_jsonl(tmp_path / "p.jsonl", [{"query": ASKED[0], "passage": PASSAGES[0], "logit": 123.0}])
    with caplog.at_level(logging.WARNING):
        desk.score(path, tmp_path / "out.jsonl")
    assert "the columns logit that came are replaced" in caplog.text
    assert json.loads((tmp_path / "out.jsonl").read_text("utf-8"))["logit"] != 123.0


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("out.xlsx", "needed one of .parquet, .csv, .jsonl, .trec"), ("in.csv", "is the file that the pairs come from")],
)
def test_what_cannot_be_written_is_refused_before_anything_is_scored(tmp_path: Path, name: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        check_out(tmp_path / name, tmp_path / "in.csv")


def test_a_receipt_says_what_was_done(desk: Desk, tmp_path: Path) -> None:
    path = by_text(tmp_path / "texts.jsonl", ASKED, PASSAGES[:4])
    receipt = desk.score(path)
    assert receipt.sentence.startswith(f"24 pairs: 24 new ({receipt.tokens:,} tokens, ")
    assert "0 reused; the passage was cut in" in receipt.sentence
    found = desk.rows(receipt.question)
    assert len(found) == 20 and set(found[0][:1]) <= set(ASKED) and found[0][2] >= found[-1][2]
