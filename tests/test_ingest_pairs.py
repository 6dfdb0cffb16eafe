"""Pairs from JSON lines, CSV and Parquet: columns by name, ids from texts, faults with their line."""

from pathlib import Path

import polars as pl
import pytest
from pydantic import ValidationError
from sources import write_jsonl

from tasks.ingest.checks import check
from tasks.ingest.collection import Collection
from tasks.ingest.complaints import CorpusError
from tasks.ingest.pairs import made_id, read_pairs
from tasks.ingest.settings import Columns, Source, detect
from warehouse.texts import text_hash

ROWS = [
    {"ask": "what is long", "doc": "A river", "head": "Water", "rel": 2, "part": "train"},
    {"ask": "what is long", "doc": "A tree", "head": "", "rel": 0, "part": "train"},
    {"ask": "what is red", "doc": "A river", "head": "Water", "rel": 1, "part": "validation"},
]
COLUMNS = Columns(query="ask", passage="doc", title="head", grade="rel", split="part")


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        return write_jsonl(path, rows)
    frame = pl.DataFrame(rows)
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    return path


def refusal(path: Path, columns: Columns) -> str:
    with pytest.raises(CorpusError) as caught:
        check(read_pairs(path, columns))
    return str(caught.value)


def plain(read: Collection) -> list[list[tuple[object, ...]]]:
    return [frame.drop("file", "line").rows() for frame in (read.passages, read.queries, read.judgements)]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "JSONL", "Csv", "PARQUET"])
def test_every_format_gives_the_same_collection(tmp_path: Path, suffix: str) -> None:
    passages, queries, judgements = plain(read_pairs(write(tmp_path / f"pairs.{suffix}", ROWS), COLUMNS))
    long, red = made_id("q", "what is long"), made_id("q", "what is red")
    river, tree = made_id("p", "Water A river"), made_id("p", "A tree")
    assert passages == [(river, "Water", "A river"), (tree, "", "A tree")]
    assert queries == [(long, "what is long"), (red, "what is red")]
    assert judgements == [(long, river, 2, "train"), (long, tree, 0, "train"), (red, river, 1, "dev")]


def test_made_ids_are_the_hash_of_the_text_in_every_process() -> None:
    """Pitfall 5. The digits are blake2b(b"what is long", digest_size=8) from another implementation (b2sum -l 64)."""
    assert made_id("q", "what is long") == "q" + "b3e30a7090b8aefa"
    assert made_id("q", "what is long") != made_id("q", "what is long ")


def test_columns_are_found_by_name_whatever_their_order(tmp_path: Path) -> None:
    """Pitfall 27: query and passage swapped train fine, and worse."""
    turned = [dict(reversed(row.items())) for row in ROWS]
    there = plain(read_pairs(write(tmp_path / "a.csv", ROWS), COLUMNS))
    assert plain(read_pairs(write(tmp_path / "b.csv", turned), COLUMNS)) == there


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_column_that_is_not_there_is_never_guessed(tmp_path: Path, suffix: str) -> None:
    message = refusal(write(tmp_path / f"pairs.{suffix}", ROWS), Columns(query="question", passage="doc"))
    assert "'question'" in message
    assert str(tmp_path / f"pairs.{suffix}") in message


def test_without_columns_for_them_grades_are_1_and_splits_are_open_and_that_is_said(tmp_path: Path) -> None:
    read = read_pairs(write(tmp_path / "pairs.csv", ROWS), Columns(query="ask", passage="doc"))
    assert read.judgements["grade"].to_list() == [1, 1, 1]
    assert read.judgements["split"].to_list() == ["", "", ""]
    assert read.notes == ("columns not read: head, rel, part",)


def test_unread_columns_of_json_lines_are_said_too(tmp_path: Path) -> None:
    read = read_pairs(write(tmp_path / "pairs.jsonl", ROWS), Columns(query="ask", passage="doc", title="head"))
    assert read.notes == ("columns not read: rel, part",)


def test_ids_can_come_from_columns(tmp_path: Path) -> None:
    rows = [{**row, "qid": 10 + len(str(row["ask"])), "pid": f"d-{row['doc']}"} for row in ROWS]
    columns = COLUMNS.model_copy(update={"query_id": "qid", "passage_id": "pid"})
    read = read_pairs(write(tmp_path / "pairs.parquet", rows), columns)
    assert read.queries["external_id"].to_list() == ["22", "21"]
    assert read.passages["external_id"].to_list() == ["d-A river", "d-A tree"]
    assert read.own_query_ids


def test_an_id_with_two_texts_is_refused_with_both_places(tmp_path: Path) -> None:
    rows = [
        {"query": "a", "passage": "x", "qid": "1", "pid": "1"},
        {"query": "b", "passage": "y", "qid": "1", "pid": "1"},
    ]
    path = write(tmp_path / "pairs.jsonl", rows)
    message = refusal(path, Columns(query_id="qid", passage_id="pid"))
    assert f"{path}:2: query id '1' has another text than at {path}:1" in message
    assert f"{path}:2: passage id '1' has another text than at {path}:1" in message


def test_a_line_in_csv_is_where_its_row_begins(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes(b'\xef\xbb\xbfquery,passage\r\n"two\r\nlines","a ""quoted"", word"\r\nshort\r\n')
    assert f"{path}:4: 1 fields under 2 columns" in refusal(path, Columns())
    path.write_bytes(b'\xef\xbb\xbfquery,passage\r\n"two\r\nlines","a ""quoted"", word"\r\n')
    read = read_pairs(path, Columns())
    assert read.queries["text"].to_list() == ["two\r\nlines"]
    assert read.passages["text"].to_list() == ['a "quoted", word']


def test_csv_with_a_quote_left_open_is_refused_rather_than_swallowing_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text('query,passage\na,b\nc,"open\nd,e\n')
    assert f"{path}:3: not CSV" in refusal(path, Columns())


def test_csv_fields_may_be_longer_than_pythons_limit(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("query,passage\na," + "b" * 200_000 + "\n")
    assert read_pairs(path, Columns()).passages["text"].str.len_chars().to_list() == [200_000]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("query,passage,passage\na,b,c\n")
    assert "2 columns are called 'passage'" in refusal(path, Columns())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ask": None}, "needed a text for the query under 'ask', got None"),
        ({"doc": ["A"]}, "needed a text for the passage under 'doc'"),
        ({"doc": "\ud83d"}, "half a surrogate pair"),
        ({"doc": "", "head": ""}, "neither title nor text"),
        ({"ask": " "}, "has no text"),
        ({"rel": 0.5}, "the grade is 0.5"),
        ({"rel": 1.0}, "the grade is 1.0"),
        ({"rel": True}, "the grade is True"),
        ({"rel": None}, "the grade is None"),
        ({"part": "TEST"}, "the split is 'TEST'"),
        ({"part": None}, "the split is None"),
    ],
)
def test_a_malformed_row_is_refused_with_its_line(tmp_path: Path, change: dict[str, object], said: str) -> None:
    path = write_jsonl(tmp_path / "pairs.jsonl", [*ROWS, {**ROWS[0], **change}])
    message = refusal(path, COLUMNS)
    assert f"{path}:4: " in message
    assert said in message


def test_contradicting_rows_are_refused_within_a_split_only(tmp_path: Path) -> None:
    other = {**ROWS[0], "rel": 0}
    assert "have grade 0, but 2 at" in refusal(write(tmp_path / "a.jsonl", [*ROWS, other]), COLUMNS)
    check(read_pairs(write(tmp_path / "b.jsonl", [*ROWS, {**other, "part": "test"}]), COLUMNS))


def test_a_folder_of_pairs_takes_the_splits_from_the_file_names(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", ROWS[:1])
    write(tmp_path / "validation.csv", ROWS[1:2])
    write(tmp_path / "notes.csv", ROWS)
    columns = Columns(query="ask", passage="doc")
    assert detect(tmp_path) == "pairs"
    assert read_pairs(tmp_path, columns).judgements["split"].to_list() == ["train", "dev"]
    assert "name only one" in refusal(tmp_path, columns.model_copy(update={"split": "part"}))


def test_capital_letters_in_names_say_the_same(tmp_path: Path) -> None:
    write(tmp_path / "Train.CSV", ROWS[:2])
    write(tmp_path / "DEV.JSONL", ROWS[2:])
    assert detect(tmp_path) == "pairs" == detect(tmp_path / "Train.CSV")
    read = read_pairs(tmp_path, Columns(query="ask", passage="doc", title="head", grade="rel"))
    assert read.judgements["split"].to_list() == ["dev", "train", "train"]


def test_a_broken_parquet_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    path.write_bytes(b"PAR1 not really")
    assert f"{path}: not a Parquet file" in refusal(path, Columns())


def test_settings_refuse_what_cannot_be_meant() -> None:
    with pytest.raises(ValidationError, match="named as query and as passage"):
        Columns(query="text", passage="text")
    with pytest.raises(ValidationError, match="split 'validation'"):
        Source(path="x", qrels={"validation": "dev.tsv"})
    with pytest.raises(ValidationError, match="leaves train out"):
        Source(path="x", qrels={"train": ""})
    with pytest.raises(ValidationError):
        Source(path="x", dev_share=1.0)


def test_auto_never_takes_a_mistyped_path_for_a_hub_id(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"source\.kind = 'huggingface'"):
        detect(tmp_path / "org" / "name")
    with pytest.raises(ValueError, match="needed a BEIR folder"):
        detect(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(ValueError, match=r"\.jsonl, \.csv, \.parquet"):
        detect(tmp_path / "notes.txt")


def test_passages_of_pairs_are_named_by_the_text_that_models_see() -> None:
    assert made_id("p", "Water A river")[1:] == text_hash("Water A river").to_bytes(8, "little", signed=True).hex()


def test_a_title_column_that_no_json_line_has_is_refused(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "pairs.jsonl", [{"query": "a", "passage": "b"}])
    assert "no column 'titel' for the title; the columns are 'query', 'passage'" in refusal(
        path, Columns(title="titel")
    )
    read = read_pairs(
        write_jsonl(path, [{"query": "a", "passage": "b"}, {**ROWS[0], "query": "c", "passage": "d"}]),
        Columns(title="head"),
    )
    assert read.passages["title"].to_list() == ["", "Water"]
