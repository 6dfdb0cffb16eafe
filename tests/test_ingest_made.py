"""Queries made out of passages: their answers hold none of their words, and labels that were given measure alone."""

import json
from pathlib import Path

import polars as pl
import pytest

from tasks.artifacts import Artifact
from tasks.documents import known_passages
from tasks.evaluate.tables import read_judged
from tasks.ingest.complaints import CorpusError
from tasks.ingest.corpus import make_corpus
from tasks.ingest.made import halves
from tasks.ingest.settings import Chunk, Made, Source

LONG = " ".join(f"Word{n} follows word{n - 1} here." for n in range(100))
BARE = {
    "a": ("Cats", "Cats sleep all day. They eat fish at night. Then they hunt."),
    "b": ("Dogs", "Dogs bark loudly. They fetch sticks and guard the barn all night."),
    "c": ("", "Too short."),
    "d": ("Sea", "The sea is wide and deep and blue and cold"),
    "e": ("Ships", "Ships cross the sea. Sailors eat fish every day."),
    "f": ("Trees", "Trees grow slowly. Some of them are very old."),
}
QUERIES = {
    "who barks": ("train", "b"),
    "who sleeps": ("train", "a"),
    "what is cold": ("dev", "d"),
    "old": ("test", "f"),
}
CLOZE = {
    "Cats sleep all day.": "They eat fish at night. Then they hunt.",
    "Dogs bark loudly.": "They fetch sticks and guard the barn all night.",
    "The sea is wide and": "deep and blue and cold",
    "Ships cross the sea.": "Sailors eat fish every day.",
    "Trees grow slowly.": "Some of them are very old.",
}


def bare(folder: Path) -> Path:
    folder.mkdir()
    rows = [json.dumps({"_id": name, "title": title, "text": text}) for name, (title, text) in BARE.items()]
    (folder / "corpus.jsonl").write_text("\n".join(rows))
    return folder


def labelled(folder: Path) -> Path:
    (bare(folder) / "qrels").mkdir()
    rows = [json.dumps({"_id": f"q{number}", "text": text}) for number, text in enumerate(QUERIES)]
    (folder / "queries.jsonl").write_text("\n".join(rows))
    for split in ("train", "dev", "test"):
        judged = [f"q{n}\t{name}\t1" for n, (where, name) in enumerate(QUERIES.values()) if where == split]
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]))
    return folder


def asked(corpus: Artifact) -> dict[str, tuple[str, str, str]]:
    """Query text → passage text, split, source."""
    texts = dict(pl.read_parquet(corpus.file("passages.parquet")).iter_rows())
    queries = dict(pl.read_parquet(corpus.file("queries.parquet")).select("hash", "text").iter_rows())
    labels = pl.read_parquet(corpus.file("labels.parquet"))
    return {queries[query]: (texts[passage], split, source) for query, passage, _, split, source in labels.iter_rows()}


def test_halves_are_cut_where_a_sentence_ends_and_the_shorter_asks() -> None:
    text = "One two three. Four five six seven. Eight nine."  # ends after 15 and 36 of 47 characters
    assert halves(text) == ("One two three.", "Four five six seven. Eight nine.")
    assert halves("one two three four five six seven eight") == ("one two three four", "five six seven eight")
    assert halves("Too short to cut.") is None


def test_what_ends_with_a_period_and_is_no_sentence_asks_for_nothing() -> None:
    """Of 10,585 shell commands, 2,393 were asked for by "find ." alone, as one query with so many positives."""
    assert halves("find . -type f -name x") == ("f -name x", "find . -type")
    assert halves("St. Louis lies on the western bank of a long river") == (
        "St. Louis lies on the",
        "western bank of a long river",
    )
    assert halves("The long western bank belongs to the city of St. Louis") == (
        "to the city of St. Louis",
        "The long western bank belongs",
    )
    assert halves("一二三四。五六七八九。") == ("一二三四。", "五六七八九。")


@pytest.mark.parametrize(
    ("kind", "expected"), [("cloze", CLOZE), ("title", {title: text for title, text in BARE.values() if title})]
)
def test_a_bare_corpus_makes_its_own_queries(tmp_path: Path, kind: Made, expected: dict[str, str]) -> None:
    """An answer that held the question's own words would teach to find copies."""
    source = Source(path=str(bare(tmp_path / "beir")), pairs=kind, dev_share=0.5)
    corpus = make_corpus(tmp_path / "artifacts", source)
    found = asked(corpus)
    assert {query: answer for query, (answer, _, _) in found.items()} == expected
    assert {source for _, _, source in found.values()} == {kind}
    assert {split for _, split, _ in found.values()} == {"train", "dev"}
    assert any("of pairs that were made out of the passages" in note for note in corpus.facts["warnings"])
    # The whole text stays, and is the same document as the answer: it is no negative of the query made of it.
    assert read_judged(corpus).passages == len(BARE)
    known = known_passages(corpus)
    assert known.group_by("query_hash").len()["len"].to_list() == [2] * len(expected)


@pytest.mark.parametrize(("kind", "needed"), [("cloze", "8 words to cut in two"), ("title", "a title and a text")])
def test_a_corpus_that_makes_no_pair_says_what_it_lacks(tmp_path: Path, kind: Made, needed: str) -> None:
    """ "No label with a grade above 0" sent people to look at labels that they never meant to have."""
    (tmp_path / "beir").mkdir()
    rows = [json.dumps({"_id": f"p{number}", "text": f"number {number}"}) for number in range(3)]
    (tmp_path / "beir" / "corpus.jsonl").write_text("\n".join(rows))
    with pytest.raises(CorpusError, match=rf"pairs = '{kind}' makes no pair: none of 3 texts has {needed}"):
        make_corpus(tmp_path / "artifacts", Source(path=str(tmp_path / "beir"), pairs=kind))


def test_made_queries_measure_nothing_where_labels_were_given(tmp_path: Path) -> None:
    """A measure of made queries says how well texts are matched to themselves."""
    folder = labelled(tmp_path / "beir")
    found = asked(make_corpus(tmp_path / "artifacts", Source(path=str(folder), pairs="cloze")))
    assert {query: split for query, (_, split, source) in found.items() if source == "given"} == {
        query: split for query, (split, _) in QUERIES.items()
    }
    assert {query: answer for query, (answer, _, source) in found.items() if source == "cloze"} == CLOZE
    assert {split for _, split, source in found.values() if source == "cloze"} == {"train"}
    (folder / "qrels" / "dev.tsv").unlink()
    drawn = asked(make_corpus(tmp_path / "artifacts", Source(path=str(folder), pairs="cloze", dev_share=0.5)))
    assert {source for _, split, source in drawn.values() if split in ("dev", "test")} == {"given"}


def test_parts_of_cut_documents_make_queries_of_their_own(tmp_path: Path) -> None:
    source = Source(path=str(bare(tmp_path / "beir")), pairs="cloze", chunk=Chunk(tokens=9, overlap=0), dev_share=0.5)
    corpus = make_corpus(tmp_path / "artifacts", source)
    assert asked(corpus)["Dogs bark loudly."][0] == "They fetch sticks and guard"
    assert read_judged(corpus).passages == len(BARE)


def test_a_bare_corpus_is_refused_where_no_pairs_are_made(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"a BEIR folder needs.* source.pairs = 'cloze' or 'title' makes queries"
    ):
        make_corpus(tmp_path / "artifacts", Source(path=str(bare(tmp_path / "beir"))))


@pytest.mark.parametrize("text", [LONG, LONG.replace(".", ""), LONG.replace("Word1", "Antidisestablishmentarian1")])
def test_a_made_query_is_no_longer_than_a_query_is(text: str) -> None:
    """Half of a long document asked for the other half: too long to be read beside a passage, the whole run failed."""
    asking, rest = halves(text) or ("", "")
    assert 45 < len(asking.split()) <= 64
    assert len(rest.split()) == 400 - len(asking.split())
