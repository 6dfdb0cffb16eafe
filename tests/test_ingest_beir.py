"""BEIR folders: what is read, and every fault refused with its place before anything is written."""

import json
from pathlib import Path

import pytest
from sources import LABELS, PASSAGES, QUERIES, write_beir

from tasks.ingest.beir import read_beir
from tasks.ingest.checks import check
from tasks.ingest.complaints import CorpusError


def refusal(folder: Path) -> str:
    with pytest.raises(CorpusError) as caught:
        check(read_beir(folder, {}))
    return str(caught.value)


def append(path: Path, line: str | bytes) -> None:
    with path.open("ab") as file:
        file.write(line if isinstance(line, bytes) else line.encode())


def test_a_folder_is_read_with_the_place_of_every_row(tmp_path: Path) -> None:
    read = read_beir(write_beir(tmp_path), {})
    check(read)
    assert read.passages.select("external_id", "title", "text", "line").rows()[0] == (
        "d1",
        "Rivers",
        "A river is long.",
        1,
    )
    assert read.queries.select("external_id", "text").rows() == list(QUERIES.items())
    assert read.judgements.drop("file").rows() == [
        ("q1", "d1", 1, "train", 2),
        ("q2", "d2", 2, "dev", 2),
        ("q3", "d3", 1, "test", 2),
        ("q3", "d1", 0, "test", 3),
    ]
    assert read.judgements["file"][0] == str(tmp_path / "qrels" / "train.tsv")


def test_label_columns_are_bound_by_name_not_by_order(tmp_path: Path) -> None:
    """Pitfall 27: query and passage swapped train fine, and worse."""
    write_beir(tmp_path)
    (tmp_path / "qrels" / "train.tsv").write_text("score\tcorpus-id\tquery-id\r\n3\td1\tq1\r\n")
    row = read_beir(tmp_path, {}).judgements.row(0, named=True)
    assert (row["query_id"], row["passage_id"], row["grade"]) == ("q1", "d1", 3)


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    write_beir(tmp_path)
    append(tmp_path / "corpus.jsonl", '{"_id": "d4", "text": "one\u2028two\x85three"}\n\n')
    assert read_beir(tmp_path, {}).passages["text"][-1] == "one\u2028two\x85three"


def test_whole_number_ids_match_the_texts_of_the_label_files(tmp_path: Path) -> None:
    write_beir(tmp_path, labels={"train": [("7", "d1", "1")]})
    append(tmp_path / "queries.jsonl", '{"_id": 7, "text": "what flows"}\n')
    check(read_beir(tmp_path, {}))


@pytest.mark.parametrize(("role", "row"), [("query", ("q9", "d1", "1")), ("passage", ("q1", "d9", "1"))])
def test_a_label_of_something_that_is_not_there_is_refused(
    tmp_path: Path, role: str, row: tuple[str, str, str]
) -> None:
    """Pitfall 33: with ids that do not match, measures are near zero and nothing complains."""
    message = refusal(write_beir(tmp_path, labels={"train": [("q1", "d1", "1"), row]}))
    assert message.startswith(
        f"{tmp_path}/qrels/train.tsv:3: {role} '{row[0] if role == 'query' else row[1]}' is judged"
    )
    assert "measures would be too low" in message


def test_many_faults_of_a_kind_are_five_examples_and_a_count(tmp_path: Path) -> None:
    orphans = [(f"x{number}", "d1", "1") for number in range(12)]
    message = refusal(write_beir(tmp_path, labels={"train": orphans}))
    assert message.startswith("12 labels of texts that do not exist")
    assert message.count("train.tsv:") == 5
    assert "train.tsv:6: query 'x4'" in message
    assert "train.tsv:7:" not in message
    assert message.endswith("and 7 more")


@pytest.mark.parametrize("file", ["corpus.jsonl", "queries.jsonl"])
def test_a_repeated_id_is_refused_though_its_text_is_the_same(tmp_path: Path, file: str) -> None:
    write_beir(tmp_path)
    first = (tmp_path / file).read_text().splitlines()[0]
    append(tmp_path / file, first + "\n")
    assert f"{file}:4: " in refusal(tmp_path)
    assert f"was already used at {tmp_path}/{file}:1" in refusal(tmp_path)


def test_an_empty_text_is_refused_but_a_title_alone_is_a_passage(tmp_path: Path) -> None:
    """Pitfall 11: an empty text is where teachers return NaN."""
    write_beir(tmp_path, passages={**PASSAGES, "d4": ("Title", "")})
    check(read_beir(tmp_path, {}))
    append(tmp_path / "corpus.jsonl", '{"_id": "d5", "title": null, "text": " \\u3000"}\n')
    assert "corpus.jsonl:5: passage 'd5' has neither title nor text" in refusal(tmp_path)
    write_beir(tmp_path, queries={**QUERIES, "q4": "\t"})
    assert "queries.jsonl:4: query 'q4' has no text" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"_id": "d4", "text": "cut off\n', "not JSON"),
        ('["d4", "text"]\n', "needed a JSON object"),
        ('{"id": "d4", "text": "text"}\n', "needed a text under '_id', got None"),
        ('{"_id": true, "text": "text"}\n', "needed a text under '_id', got True"),
        ('{"_id": "d4"}\n', "needs a text under 'text', got text None"),
        ('{"_id": "d4", "text": ["text"]}\n', "needs a text under 'text'"),
        ('{"_id": "d4", "text": "text", "title": 4}\n', "title 4"),
        (b'{"_id": "d4", "text": "caf\xe9"}\n', "not UTF-8"),
        ('{"_id": "d4", "text": "half \\ud83d"}\n', "half a surrogate pair"),
        ('{"_id": "d\\udc00", "text": "text"}\n', "half a surrogate pair"),
    ],
)
def test_a_malformed_text_line_is_refused_with_its_number(tmp_path: Path, line: str | bytes, said: str) -> None:
    append(write_beir(tmp_path) / "corpus.jsonl", line)
    message = refusal(tmp_path)
    assert f"{tmp_path}/corpus.jsonl:4: " in message
    assert said in message


@pytest.mark.parametrize("grade", ["1.0", "yes", "", "1_0", "１", " 1", "99999999999"])
def test_a_grade_that_is_no_whole_number_is_refused(tmp_path: Path, grade: str) -> None:
    """Pitfall 34: rounding would change the gain."""
    message = refusal(write_beir(tmp_path, labels={"train": [("q1", "d1", grade)]}))
    assert f"train.tsv:2: the grade is {grade!r}; needed a whole number" in message


@pytest.mark.parametrize("line", ["q1\td1\n", "q1 d1 1\n", "q1\t\t1\n", "q1\td1\t1\textra\n"])
def test_a_malformed_label_line_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    append(write_beir(tmp_path) / "qrels" / "train.tsv", line)
    assert f"{tmp_path}/qrels/train.tsv:3: needed query-id, corpus-id and score" in refusal(tmp_path)


def test_a_label_file_without_its_header_is_refused_rather_than_losing_its_first_label(tmp_path: Path) -> None:
    write_beir(tmp_path)
    (tmp_path / "qrels" / "dev.tsv").write_text("q2\td2\t1\n")
    assert "dev.tsv:1: needed the header query-id<tab>corpus-id<tab>score" in refusal(tmp_path)


def test_a_query_id_in_two_splits_is_refused(tmp_path: Path) -> None:
    """Pitfall 37: what is trained on would be measured as if it were new."""
    message = refusal(write_beir(tmp_path, labels={**LABELS, "test": [("q1", "d3", "1")]}))
    assert (
        f"{tmp_path}/qrels/test.tsv:2: query 'q1' is in test, but in train at {tmp_path}/qrels/train.tsv:2" in message
    )


def test_contradicting_grades_are_refused_and_repeated_ones_are_not(tmp_path: Path) -> None:
    write_beir(tmp_path, labels={"train": [("q1", "d1", "1"), ("q1", "d1", "1")]})
    check(read_beir(tmp_path, {}))
    message = refusal(write_beir(tmp_path, labels={"train": [("q1", "d1", "1"), ("q1", "d2", "0"), ("q1", "d1", "2")]}))
    assert "train.tsv:4: query 'q1' and passage 'd1' have grade 2, but 1 at" in message
    assert "'d2'" not in message


def test_faults_of_several_kinds_come_in_one_error(tmp_path: Path) -> None:
    write_beir(tmp_path, queries={"q1": "", "q2": "b", "q3": "c"}, labels={"train": [("q9", "d1", "1")]})
    message = refusal(tmp_path)
    assert "queries.jsonl:1" in message
    assert "train.tsv:2" in message


def test_missing_files_are_named_together(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        read_beir(tmp_path, {"guard": "other.tsv"})
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/train.tsv", "qrels/other.tsv"):
        assert str(tmp_path / name) in str(caught.value)


def test_label_files_can_be_named_and_the_others_are_listed_as_not_read(tmp_path: Path) -> None:
    write_beir(tmp_path, labels={**LABELS, "sparse": [("q1", "d1", "1")], "all": [("q9", "d9", "x")]})
    read = read_beir(tmp_path, {"train": "sparse.tsv", "guard": "qrels/dev.tsv", "dev": "", "test": ""})
    assert read.judgements["split"].to_list() == ["train", "guard"]
    assert read.notes == ("label files not read: all.tsv, test.tsv, train.tsv",)


def test_texts_are_kept_to_the_character(tmp_path: Path) -> None:
    text = "  two  spaces\n\tand \U0001f600 \u0000 e\u0301 "
    write_beir(tmp_path, passages={**PASSAGES, "d4": ("", text)})
    assert json.loads((tmp_path / "corpus.jsonl").read_text().splitlines()[-1])["text"] == text
    assert read_beir(tmp_path, {}).passages["text"][-1] == text


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    """Editors on Windows write one; it must not become part of the first line."""
    write_beir(tmp_path)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/train.tsv"):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + (tmp_path / name).read_bytes())
    check(read_beir(tmp_path, {}))
