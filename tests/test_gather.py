"""Pairs come in many files, and every one of them is read whole or refused with its line."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from sources import write_jsonl

from tasks.gather.gathering import choose_corpus
from tasks.gather.resolving import Asked, resolve
from tasks.gather.settings import PairColumns, PairsFile
from tasks.gather.table import read_table
from tasks.ingest.complaints import CorpusError
from warehouse.texts import text_hash

KNOWN = {
    "query": {"q1": "what is long", "q2": "what is tall", "7": "how old"},
    "passage": {"d1": "Rivers A river is long.", "d2": "A tree is tall.", "8": "old house"},
}
TEXTS = [
    {"query": "what is long", "passage": "A river is long.", "note": "a"},
    {"query": "what is tall", "passage": "A tree, a house", "note": "b"},
    {"query": "what is long", "passage": "A tree, a house", "note": ""},
]
IDS = [{"query_id": "q1", "passage_id": "d2"}, {"query_id": "q2", "passage_id": "d1"}]


def lookup(role: str, ids: pl.Series) -> pl.DataFrame:
    rows = [(name, KNOWN[role][name]) for name in ids if name in KNOWN[role]]
    return pl.DataFrame(rows, schema={"external_id": pl.String, "text": pl.String}, orient="row")


def asked(path: Path, columns: PairColumns = PairColumns()) -> Asked:
    return resolve(read_table(path), columns, lookup)


def texts(found: Asked) -> list[tuple[str, str]]:
    """What each row asks, in the order of the file."""
    queries, passages = dict(found.queries.iter_rows()), dict(found.passages.iter_rows())
    return [(queries[q], passages[p]) for q, p in found.rows.select("query_hash", "passage_hash").iter_rows()]


def write(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    if path.suffix == ".jsonl":
        return write_jsonl(path, rows)
    frame = pl.DataFrame(rows)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".csv":
        frame.write_csv(path)
    else:
        path.write_text("".join("\t".join(row) + "\n" for row in [frame.columns, *frame.iter_rows()]), "utf-8")
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet"])
def test_texts_are_read_from_every_format(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"pairs{suffix}", TEXTS)
    found = asked(path)
    assert texts(found) == [(row["query"], row["passage"]) for row in TEXTS]
    assert found.queries.height == found.passages.height == 2
    assert found.rows["query_id"][0] == found.rows["query_id"][2] != found.rows["query_id"][1]
    assert read_table(path).rows["note"].to_list() == ["a", "b", ""]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet"])
def test_ids_are_read_from_every_format(tmp_path: Path, suffix: str) -> None:
    found = asked(write(tmp_path / f"pairs{suffix}", IDS))
    assert texts(found) == [("what is long", "A tree is tall."), ("what is tall", "Rivers A river is long.")]
    assert found.rows.select("query_id", "passage_id").rows() == [("q1", "d2"), ("q2", "d1")]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum([row["query"] for row in TEXTS[:2]])])
def test_texts_that_a_data_frame_keeps_by_number_are_texts(tmp_path: Path, kind: type[pl.DataType]) -> None:
    """As data frames keep columns whose values repeat, such as queries."""
    path = tmp_path / "pairs.parquet"
    pl.DataFrame(TEXTS).with_columns(pl.col("query").cast(kind)).write_parquet(path)
    assert texts(asked(path)) == [(row["query"], row["passage"]) for row in TEXTS]


@pytest.mark.parametrize("suffix", [".trec", ".run"])
def test_a_trec_run_names_ids(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"bm25{suffix}"
    path.write_text("q1 Q0 d2 1 12.5 bm25\n\nq1\tQ0\td1\t2  11.0 bm25\n7 Q0 8 1 3 bm25\n", "utf-8")
    assert texts(asked(path))[1:] == [("what is long", "Rivers A river is long."), ("how old", "old house")]
    assert read_table(path).lines == [1, 3, 4]


def test_a_tsv_takes_quotes_for_characters(tmp_path: Path) -> None:
    """MS MARCO's files hold lone quotes; taken for CSV, one of them swallows the lines up to the next."""
    path = tmp_path / "pairs.tsv"
    path.write_text('query\tpassage\n"what\tis "long\nwhat\tit"\n', "utf-8")
    assert texts(asked(path)) == [('"what', 'is "long'), ("what", 'it"')]


def test_a_title_is_read_as_the_model_sees_it(tmp_path: Path) -> None:
    rows = [
        {"query": "a", "passage": "A river is long.", "title": "Rivers"},
        {"query": "a", "passage": "A tree is tall.", "title": None},
    ]
    assert [passage for _, passage in texts(asked(write_jsonl(tmp_path / "p.jsonl", rows)))] == [
        "Rivers A river is long.",
        "A tree is tall.",
    ]


def test_a_new_query_may_be_asked_of_passages_by_id(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "p.jsonl", [{"query": "something new", "passage_id": 8}])
    assert texts(asked(path)) == [("something new", "old house")]


def test_a_text_counts_before_the_id_beside_it(tmp_path: Path) -> None:
    """Pitfall 3: the text was edited, and the id still gives the old one."""
    row = {"query_id": "q1", "query": "what is longer", "passage_id": "unheard-of", "passage": "A snake."}
    found = asked(write_jsonl(tmp_path / "p.jsonl", [row]))
    assert texts(found) == [("what is longer", "A snake.")]
    assert found.rows.row(0)[:2] == ("q1", "unheard-of")


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nq1\td2\t1\n", "utf-8")
    columns = PairColumns(query_id="query-id", passage_id="corpus-id")
    assert texts(asked(path, columns)) == [("what is long", "A tree is tall.")]


@pytest.mark.parametrize("odd", [3.5, True, ["a", "b"], {"t": 1}])
@pytest.mark.parametrize("name", ["query", "passage", "title"])
def test_one_value_that_is_no_text_does_not_turn_all_texts_into_json(tmp_path: Path, name: str, odd: object) -> None:
    """The other rows' texts would be scored with quotes around them, and nothing would complain."""
    row = {"query": "what is long", "title": "Rivers", "passage": "A river"}
    path = write_jsonl(tmp_path / "pairs.jsonl", [row, {**row, name: odd}])
    with pytest.raises(CorpusError, match=rf"pairs\.jsonl:2: needed a text under '{name}', got "):
        asked(path)


def test_an_id_is_no_list(tmp_path: Path) -> None:
    rows = [{"query_id": "q1", "passage_id": "d1"}, {"query_id": "q1", "passage_id": ["d1", "d2"]}]
    with pytest.raises(CorpusError, match=r"pairs\.jsonl:2: .*'passage_id', got \['d1', 'd2'\]"):
        asked(write_jsonl(tmp_path / "pairs.jsonl", rows))


def test_a_title_alone_is_a_passage(tmp_path: Path) -> None:
    """As ingest takes it; a title of nothing beside nothing is still refused."""
    row = {"query": "what is long", "title": "Rivers", "passage": ""}
    path = write_jsonl(tmp_path / "pairs.jsonl", [row])
    assert texts(asked(path)) == [("what is long", "Rivers")]
    with pytest.raises(CorpusError, match="needed a text under 'passage', got ''"):
        asked(write_jsonl(path, [{**row, "title": " "}]))


def test_numbers_and_texts_of_json_come_back_as_they_were(tmp_path: Path) -> None:
    rows = [
        {"query": "a", "passage": "b", "n": 1, "share": 1, "mixed": 1, "deep": [1], "seen": True, "big": 2**70},
        {"query": "a", "passage": "c", "n": None, "share": 0.5, "mixed": "x", "deep": {"k": None}, "seen": False},
    ]
    came = read_table(write_jsonl(tmp_path / "p.jsonl", rows)).rows
    assert came.drop("query", "passage").to_dict(as_series=False) == {
        "n": [1, None],
        "share": [1.0, 0.5],
        "mixed": ["1", "x"],
        "deep": ["[1]", '{"k": null}'],
        "seen": [True, False],
        "big": [str(2**70), None],
    }


REFUSED: dict[str, tuple[str, str, str]] = {
    "unknown ids": (
        "p.csv",
        "query_id,passage_id\nq1,d1\nq9,d1\nq9,d2\nq1,d9\n",
        r"2 unknown ids .*nothing was scored\):\n  .*p\.csv:3: query 'q9' is not .*\n  .*p\.csv:5: passage 'd9' is not",
    ),
    "an id of nothing": ("p.csv", "query_id,passage_id\nq1,\n", r"p\.csv:2: needed an id under 'passage_id', got ''"),
    "an empty text": ("p.csv", "query,passage\na,b\n ,b\n", r"p\.csv:3: needed a text under 'query', got ' '"),
    "a missing key": (
        "p.jsonl",
        '{"query": "a", "passage": "b"}\n{"query": "a"}\n',
        r"p\.jsonl:2: needed a text under",
    ),
    "broken JSON": ("p.jsonl", '{"query": "a", "passage": "b"}\n{"query":\n', r"p\.jsonl:2: not JSON"),
    "half a surrogate": ("p.jsonl", '{"query": "\\ud800", "passage": "b"}\n', r"p\.jsonl:1: half a surrogate pair"),
    "numbers for texts": ("p.jsonl", '{"query": 1.5, "passage": "b"}\n', r"'query' holds Float64 values; needed texts"),
    "a short line": ("p.tsv", "query\tpassage\na\tb\na\n", r"p\.tsv:3: 1 fields under 2 columns"),
    "no columns": ("p.csv", "q,p\na,b\n", r"no column 'query' .* nor 'query_id' .*are 'q', 'p'.*--column query=NAME"),
    "two columns of one name": ("p.csv", "query,query,passage\na,b,c\n", r"several columns are called 'query'"),
    "five fields": ("p.trec", "q1 Q0 d1 1 2.0 x\nq1 Q0 d1 1 2.0\n", r"p\.trec:2: needed query_id Q0 passage_id rank"),
    "nothing": ("p.csv", "query,passage\n", r"p\.csv: there are no pairs in it"),
    "an empty file": ("p.jsonl", "", r"p\.jsonl: there are no pairs in it"),
    "no Parquet": ("p.parquet", "hello", r"p\.parquet: not a Parquet file"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_line(tmp_path: Path, fault: str) -> None:
    name, content, sentence = REFUSED[fault]
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(CorpusError, match=f"(?s){sentence}"):
        asked(tmp_path / name)


def test_the_first_few_unknown_ids_are_named_and_all_are_counted(tmp_path: Path) -> None:
    rows = [{"query_id": "q1", "passage_id": f"x{number}"} for number in range(40)]
    with pytest.raises(CorpusError) as caught:
        asked(write_jsonl(tmp_path / "p.jsonl", rows * 2))
    told = str(caught.value).splitlines()
    assert told[0].startswith("40 unknown ids")
    assert told[1].endswith("p.jsonl:1: passage 'x0' is not in the corpus")
    assert told[-1] == "  and 35 more"


@pytest.mark.parametrize(
    ("known", "named", "sentence"),
    [
        ([], "", "no corpus that knows any"),
        (["a", "b"], "", "2 corpora, in which one id can mean different texts; say which with --corpus: 'a', 'b'"),
        (["a", "b"], "c", "--corpus 'c': the warehouse has no such corpus; it has 'a', 'b'"),
    ],
)
def test_it_must_be_clear_which_corpus_is_meant(known: list[str], named: str, sentence: str) -> None:
    """Pitfall 33: ids of another corpus give scores that look like any."""
    with pytest.raises(ValueError, match=sentence):
        choose_corpus(known, PairsFile(path=Path("p.csv"), corpus=named))


def test_the_only_corpus_need_not_be_named() -> None:
    assert choose_corpus(["a"], PairsFile(path=Path("p.csv"))) == "a"
    assert choose_corpus(["a", "b"], PairsFile(path=Path("p.csv"), corpus="b")) == "b"


def test_a_column_cannot_be_two_things() -> None:
    with pytest.raises(ValueError, match="named as query and as passage"):
        PairColumns(query="text", passage="text")


def test_texts_are_named_by_their_hash(tmp_path: Path) -> None:
    found = asked(write(tmp_path / "p.csv", TEXTS))
    assert found.rows["query_hash"].to_list() == [text_hash(row["query"]) for row in TEXTS]
    assert json.dumps(sorted(found.queries["text"])) == json.dumps(sorted({row["query"] for row in TEXTS}))
