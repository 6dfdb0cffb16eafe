"""`remine init`: what it finds in a user's data, and the recipe that it writes."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from sources import LABELS, PASSAGES, QUERIES, write_beir, write_jsonl

from tasks.ingest.complaints import CorpusError
from tasks.ingest.corpus import make_corpus
from tasks.ingest.guess import guess_columns
from tasks.ingest.lengths import lengths_of
from tasks.ingest.look import Look, look
from tasks.ingest.settings import Columns, Source
from tasks.ingest.starter import recipe_text, write_recipe


def pairs(number: int, **more: object) -> list[dict[str, object]]:
    return [{"question": f"what is {n}", "answer": f"The answer to it is {n}.", **more} for n in range(number)]


def test_a_beir_folder_is_counted(tmp_path: Path) -> None:
    found = look(write_beir(tmp_path / "mine", {**PASSAGES, "d4": PASSAGES["d2"]}, {**QUERIES, "q4": "what else"}))
    text = found.text()
    for said in (
        "mine: a BEIR folder",
        "passages           3   (1 duplicate merged)",
        "queries            4\n",
        "test             1   2 labels, 1.0 positives a query (at most 1)",
        "unlabelled       1\n",
        "scripts    Latin 100.0%",
        "only 1 labelled train pair",
        "only 1 dev query",
    ):
        assert said in text, said
    assert all(line == line.rstrip() for line in text.splitlines())


def test_lengths_are_quantiles_of_texts_that_exist() -> None:
    texts = pl.Series([f"{'x' * n} y" for n in range(1, 100)])
    found = lengths_of(texts)
    assert found.characters == (8, 52, 96, 101)
    assert found.words == (2, 2, 2, 2)


def test_long_passages_are_counted_from_257_words_on(tmp_path: Path) -> None:
    passages = {**PASSAGES, "d4": ("", "word " * 256), "d5": ("", "word " * 257)}
    warnings = look(write_beir(tmp_path / "mine", passages)).warnings
    assert any(note.startswith("1 passage of 5 longer than 256 words") for note in warnings)


def test_enough_data_raises_no_warning(tmp_path: Path) -> None:
    number = 1000
    queries = {f"q{n}": f"query {n}" for n in range(number + 200)}
    passages = {f"d{n}": ("", f"passage {n}") for n in range(number + 200)}
    rows = [(f"q{n}", f"d{n}", "1") for n in range(number + 200)]
    labels = {"train": rows[:number], "dev": rows[number : number + 100], "test": rows[number + 100 :]}
    assert look(write_beir(tmp_path / "mine", passages, queries, labels)).warnings == ()
    fewer = {**labels, "train": rows[1:number], "dev": rows[number + 1 : number + 100]}
    notes = look(write_beir(tmp_path / "fewer", passages, queries, fewer)).warnings
    assert [note.split(":")[0] for note in notes] == ["only 999 labelled train pairs", "only 99 dev queries"]


def test_leaks_and_missing_splits_are_said(tmp_path: Path) -> None:
    found = look(
        write_beir(
            tmp_path / "mine",
            labels={"train": [(f"q{n}", "d1", "1") for n in (1, 2, 3)], "dev": [("a", "d1", "1")]},
            queries={**QUERIES, "a": "what is red"},
        )
    )
    text = " ".join(found.text().split())
    assert "1 query text of train also in dev" in text
    assert "no test split" in text
    assert "1 of 1 dev query with only positives that train queries are labelled with too" in text


def test_scripts_without_spaces_are_said(tmp_path: Path) -> None:
    found = look(write_beir(tmp_path / "mine", {"d1": ("", "河流很長"), "d2": ("", "樹很高"), "d3": ("", "房子")}))
    assert "100% of the letters in scripts without spaces" in " ".join(found.text().split())
    assert "multilingual" in recipe_text(found, Path("mine.toml"))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"question": "a?", "answer": "b b"}, Columns(query="question", passage="answer")),
        ({"Text": "b b", "Query": "a?", "Label": "1"}, Columns(query="Query", passage="Text", grade="Label")),
        (
            {"anchor": "a?", "positive": "b b", "split": "train"},
            Columns(query="anchor", passage="positive", split="split"),
        ),
        (
            {"qid": 4, "query": "a?", "doc_id": "d", "title": None, "text": "b b", "score": 2},
            Columns(query_id="qid", query="query", passage_id="doc_id", title="title", passage="text", grade="score"),
        ),
    ],
)
def test_columns_are_guessed_by_their_names(columns: Mapping[str, object], expected: Columns) -> None:
    guessed, notes = guess_columns("file", list(columns), [columns])
    assert guessed == expected
    assert notes == []


def test_columns_are_guessed_by_their_contents_and_that_is_said() -> None:
    rows = [{"kind": "x", "n": n, "b": f"a far longer text number {n}", "a": f"short {n}"} for n in range(10)]
    guessed, notes = guess_columns("file", list(rows[0]), rows)
    assert (guessed.query, guessed.passage) == ("a", "b")
    assert notes == [
        "query = column 'a' by its contents, not by its name: please check",
        "passage = column 'b' by its contents, not by its name: please check",
    ]


@pytest.mark.parametrize(("name", "value"), [("score", 0.5), ("score", "high"), ("split", "north"), ("qid", None)])
def test_a_column_whose_values_do_not_fit_its_name_is_not_used(name: str, value: object) -> None:
    rows = [{"query": "a", "passage": "b", name: value}]
    guessed, notes = guess_columns("file", list(rows[0]), rows)
    assert guessed == Columns()
    assert len(notes) == 1
    assert f"column {name!r} sounds like" in notes[0]


def test_a_file_without_two_texts_is_refused(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "pairs.jsonl", [{"text": "only one"}, {"text": "column"}])
    with pytest.raises(CorpusError, match="no column looks like the query"):
        look(path)


def test_one_unknown_text_beside_a_known_one_is_it() -> None:
    rows = [{"q": f"short {n}", "text": f"text number {n}", "n": n} for n in range(10)]
    guessed, notes = guess_columns("file", list(rows[0]), rows)
    assert (guessed.query, guessed.passage) == ("q", "text")
    assert notes == ["query = column 'q' by its contents, not by its name: please check"]


def test_ids_are_not_taken_for_texts() -> None:
    """A BEIR folder's corpus.jsonl holds no pairs: its ids would be trained on as queries."""
    rows = [{"_id": f"p{n}", "title": "", "text": f"text number {n}"} for n in range(10)]
    with pytest.raises(CorpusError, match="no column looks like the query; the columns left are none"):
        guess_columns("corpus.jsonl", list(rows[0]), rows)


def test_a_table_cut_by_semicolons_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("question;answer\nwhat;that\nwho;she\n", "utf-8")
    with pytest.raises(CorpusError, match=r"'question;answer'; fields of a CSV are separated by commas"):
        look(tmp_path / "p.csv")


def test_what_ingest_refuses_init_refuses(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="passage 'd9' is judged"):
        look(write_beir(tmp_path / "mine", labels={**LABELS, "test": [("q3", "d9", "1")]}))


def written(found: Look, path: Path) -> Source:
    write_recipe(found, path)
    recipe = tomllib.loads(path.read_text("utf-8"))
    assert recipe["rounds"] == 2
    assert recipe["student"]["model"]
    return Source.model_validate(recipe["source"])


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.parquet", "pairs.jsonl"])
def test_the_recipe_ingests_what_was_looked_at(tmp_path: Path, name: str) -> None:
    rows = [*pairs(40, part="x"), *pairs(3, part="y")]
    path = tmp_path / name
    frame = pl.DataFrame(rows)
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[path.suffix[1:]](path)
    found = look(path)
    source = written(found, tmp_path / "recipes" / "mine.toml")
    assert source == found.source.model_copy(update={"name": "pairs"})
    assert source.columns == Columns(query="question", passage="answer")
    artifact = make_corpus(tmp_path / "artifacts", source)
    assert artifact.facts == {"corpus": "pairs", **found.facts}


def test_the_recipe_of_a_beir_folder_loads_with_odd_names(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / 'my "data" \\ x')
    source = written(look(folder), tmp_path / "my recipe.toml")
    assert source.path == str(folder)
    assert source.kind == "beir"
    assert tomllib.loads((tmp_path / "my recipe.toml").read_text())["name"] == "my-recipe"


def test_a_recipe_is_never_overwritten(tmp_path: Path) -> None:
    found = look(write_beir(tmp_path / "mine"))
    (tmp_path / "mine.toml").write_text("# mine\n")
    with pytest.raises(FileExistsError, match=r"mine\.toml: there is a recipe already"):
        write_recipe(found, tmp_path / "mine.toml")
    assert (tmp_path / "mine.toml").read_text() == "# mine\n"


def test_a_folder_of_split_files_needs_no_split_column(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    write_jsonl(tmp_path / "mine" / "train.jsonl", pairs(4, split="train"))
    write_jsonl(tmp_path / "mine" / "dev.jsonl", pairs(2, split="dev"))
    found = look(tmp_path / "mine")
    assert found.source.columns.split == ""
    assert found.facts["counts"]["queries"] == {"train": 2, "dev": 2}
