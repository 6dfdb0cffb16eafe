"""Long documents: cut into passages, labelled as wholes, found by their best passage."""

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from models.teaching import TeacherPlan
from tasks.artifacts import Artifact, make_artifact
from tasks.baseline.systems import evaluate_bm25, evaluate_hybrid
from tasks.documents import Documents, known_passages
from tasks.evaluate.measures import mean_values, measure_queries
from tasks.evaluate.settings import Evaluation
from tasks.evaluate.systems import evaluate_student
from tasks.evaluate.tables import read_judged
from tasks.ingest.chunks import TOKEN, cut
from tasks.ingest.complaints import CorpusError
from tasks.ingest.corpus import make_corpus
from tasks.ingest.settings import Chunk, Source
from tasks.mine.miners import Miner, Miners
from tasks.mine.mining import mine_candidates
from tasks.mine.settings import Mining
from tasks.teach.labels import Material
from tasks.train.arrays import labelled_lists, positive_pairs
from warehouse.texts import text_hash

DOCUMENTS = {
    "cats": "Cats sleep all day. They eat fish. At night they hunt mice in the barn.",
    "dogs": "Dogs bark at night. They fetch sticks all day. Dogs guard the barn.",
    "sea": "The sea is wide.",
    "ships": "Ships cross the sea. Sailors eat fish. The harbour is full.",
}
QUERIES = {
    "who hunts mice in the barn": ("train", "cats"),
    "who fetches sticks": ("train", "dogs"),
    "what crosses the sea": ("dev", "ships"),
    "who eats fish": ("dev", "cats"),
    "who guards the barn": ("test", "dogs"),
}
CHUNK = Chunk(tokens=6, overlap=1)


@pytest.fixture
def corpus(tmp_path: Path) -> Artifact:
    return make_corpus(tmp_path / "artifacts", Source(path=str(beir(tmp_path / "beir", DOCUMENTS)), chunk=CHUNK))


def beir(folder: Path, documents: dict[str, str]) -> Path:
    (folder / "qrels").mkdir(parents=True)
    rows = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in documents.items()]
    (folder / "corpus.jsonl").write_text("\n".join(rows))
    rows = [json.dumps({"_id": f"q{number}", "text": text}) for number, text in enumerate(QUERIES)]
    (folder / "queries.jsonl").write_text("\n".join(rows))
    for split in ("train", "dev", "test"):
        judged = [f"q{n}\t{name}\t1" for n, (where, name) in enumerate(QUERIES.values()) if where == split]
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]))
    return folder


def test_windows_are_pieces_of_the_text_with_their_overlap() -> None:
    assert cut("one two, three four five", Chunk(tokens=3, overlap=1)) == ["one two,", ", three four", "four five"]
    assert cut("one two", Chunk(tokens=3, overlap=1)) == ["one two"]
    assert cut("日本語文 abc", Chunk(tokens=2, overlap=0)) == ["日本", "語文", "abc"]


@given(st.text(max_size=80), st.integers(1, 9), st.integers(0, 8))
def test_no_token_is_lost_and_no_passage_is_longer_than_asked(text: str, tokens: int, overlap: int) -> None:
    """What falls between two passages can never be found; what exceeds the length is cut off by the model."""
    chunk = Chunk(tokens=tokens, overlap=min(overlap, tokens - 1))
    pieces = cut(text, chunk)
    found = [TOKEN.findall(piece) for piece in pieces]
    assert all(piece in text for piece in pieces)
    assert max(map(len, found)) <= tokens
    assert [*found[0], *(word for each in found[1:] for word in each[chunk.overlap :])] == TOKEN.findall(text)


def test_an_overlap_as_long_as_the_passage_is_refused() -> None:
    with pytest.raises(ValidationError, match="an overlap of 5 tokens leaves nothing new in a passage of 5"):
        Chunk(tokens=5, overlap=5)


def test_passages_know_their_document_and_labels_stay_on_documents(corpus: Artifact) -> None:
    ids = pl.read_parquet(corpus.file("passage_ids.parquet"))
    assert dict(ids.group_by("document").len().iter_rows()) == {"cats": 4, "dogs": 3, "sea": 1, "ships": 3}
    assert ids.filter(pl.col("document") == "sea")["external_id"].to_list() == ["sea"]
    assert ids.filter(pl.col("document") == "ships")["external_id"].to_list() == ["ships#1", "ships#2", "ships#3"]
    judged = read_judged(corpus)
    assert judged.passages == 4
    names = {text_hash(text): name for name, text in DOCUMENTS.items()}
    assert sorted(names[each] for each in judged.splits["dev"]["passage_hash"]) == ["cats", "ships"]


def test_a_student_learns_from_the_part_that_answers(corpus: Artifact) -> None:
    """The label says which document is right; its other parts say nothing of the question."""
    texts = dict(pl.read_parquet(corpus.file("passages.parquet")).iter_rows())
    asked = {text_hash(text): text for text in QUERIES}
    learnt = {asked[query]: texts[passage] for query, passage, *_ in labelled_lists(corpus).iter_rows()}
    assert learnt == {
        "who hunts mice in the barn": "night they hunt mice in the",
        "who fetches sticks": "They fetch sticks all day.",
    }


def test_no_part_of_a_positive_document_is_a_negative(corpus: Artifact, tmp_path: Path) -> None:
    """Pitfall 16: another part of the right document answers as well, or nearly; in no list and in no batch."""
    parts = pl.read_parquet(corpus.file("documents.parquet"))
    whole = {
        (text_hash(query), passage)
        for query, (_, name) in QUERIES.items()
        for document, passage in parts.select("document_hash", "passage_hash").iter_rows()
        if document == text_hash(DOCUMENTS[name])
    }
    assert set(known_passages(corpus).iter_rows()) == whole
    miner = Miner(system="base", vectors=vectors(tmp_path, corpus))
    settings = Mining(depth=12, last_rank=12)
    mined = mine_candidates(tmp_path / "artifacts", corpus, Miners.first(miner, miner), settings)
    found = set(pl.read_parquet(mined.file("candidates.parquet")).select("query_hash", "passage_hash").iter_rows())
    assert found
    assert not found & whole
    assert len(found) == (11 - 4) + (11 - 3)
    assert set(positive_pairs(corpus).iter_rows()) == {
        pair
        for pair in whole
        if pair[0] in {text_hash(text) for text, (split, _) in QUERIES.items() if split == "train"}
    }


def test_no_teacher_is_shown_another_part_of_the_right_document_as_wrong(corpus: Artifact, tmp_path: Path) -> None:
    """Drawn from the whole corpus, some would be; the teacher would be told that half of an answer is wrong."""
    miner = Miner(system="base", vectors=vectors(tmp_path, corpus))
    mined = mine_candidates(tmp_path / "artifacts", corpus, Miners.first(miner, miner), Mining(depth=12, last_rank=12))
    asked = [text for text, (split, _) in QUERIES.items() if split == "train"]
    lists = Material.read(corpus, mined).lists(pl.Series([text_hash(text) for text in asked]))
    plan = TeacherPlan(steps=1, batch=2, length=9, random_share=1.0)
    texts = dict(pl.read_parquet(corpus.file("passages.parquet")).iter_rows())
    right = {(asked, texts[passage]) for asked in asked for query, passage in known_passages(corpus).iter_rows()
             if query == text_hash(asked)}  # fmt: skip
    drawn = [pair for step in range(20) for pair in lists.draw(plan, step).pairs]
    assert len(drawn) > 20 * 2 * 5
    assert len({pair for pair in drawn if pair in right}) == len(asked)  # what is learnt from, and nothing beside it


def test_a_document_stands_where_its_best_passage_stands() -> None:
    """By hand: passages 2 1 4 3 5 of documents a = {1, 2}, b = {3}, c = {4, 5} are the documents a c b."""
    documents = Documents(pl.DataFrame({"document_hash": [10, 10, 20, 30, 30], "passage_hash": [1, 2, 3, 4, 5]}))
    ranking = pl.DataFrame({"query_hash": [7] * 5, "passage_hash": [2, 1, 4, 3, 5], "rank": [1, 2, 3, 4, 5]})
    assert documents.ranked(ranking)["passage_hash"].to_list() == [10, 30, 20]
    best = documents.best(ranking, 2)
    assert best.select("passage_hash", "rank").rows() == [(2, 1), (4, 2)]
    judged = pl.DataFrame({"query_hash": [7], "passage_hash": [20], "grade": [1]})
    values = mean_values(measure_queries(judged, documents.ranked(ranking)))
    assert values["nDCG@10"] == pytest.approx(1 / math.log2(1 + 3))  # as passages: rank 4, 0.43
    assert values["RR@10"] == pytest.approx(1 / 3)


def test_the_same_words_in_two_documents_count_for_both() -> None:
    documents = Documents(pl.DataFrame({"document_hash": [10, 20, 20], "passage_hash": [1, 1, 2]}))
    ranking = pl.DataFrame({"query_hash": [7, 7], "passage_hash": [1, 2], "rank": [1, 2]})
    assert documents.ranked(ranking)["passage_hash"].to_list() == [10, 20]
    assert documents.best(ranking, 5)["passage_hash"].to_list() == [1]


def test_a_document_of_many_passages_does_not_push_others_out() -> None:
    """The first 60 passages are of one document; with only as many passages as documents wanted it would be alone."""
    parts = pl.DataFrame({"document_hash": [1] * 60 + [2, 3, 4], "passage_hash": range(63)})
    asked = []

    def ask(queries: list[int], k: int) -> pl.DataFrame:
        asked.append((queries, k))
        rows = [(query, rank, rank + 1) for query in queries for rank in range(min(k, 63))]
        return pl.DataFrame(rows, schema=["query_hash", "passage_hash", "rank"], orient="row")

    found = Documents(parts).retrieve(ask, [7, 8], 3)
    assert found.rows() == [(q, passage, rank) for q in (7, 8) for rank, passage in ((1, 0), (2, 60), (3, 61))]
    assert asked == [([7, 8], 12), ([7, 8], 48), ([7, 8], 192)]


def test_every_system_ranks_documents(corpus: Artifact, tmp_path: Path) -> None:
    root, settings = tmp_path / "artifacts", Evaluation(depth=100, rerank_depth=3)
    encoded = vectors(tmp_path, corpus)
    dense = evaluate_student(root, "base", corpus, encoded, settings)
    words = evaluate_bm25(root, corpus, 100)
    both = evaluate_hybrid(root, corpus, words, dense, 100)
    documents = Documents.read(corpus)
    for made in (dense, words, both):
        ranking = pl.read_parquet(made.file("ranking.parquet"))
        whole = documents.ranked(ranking)
        assert whole.height == ranking.height > 0
        assert not whole.select("query_hash", "passage_hash").is_duplicated().any()
    assert pl.read_parquet(dense.file("ranking.parquet")).height == 3 * 4
    judged = read_judged(corpus)
    expected = by_hand(corpus, encoded, judged.splits["dev"])
    measured = pl.read_parquet(dense.file("metrics.parquet")).filter(split="dev", measure="RR@10")
    assert measured["value"].item() == pytest.approx(expected)
    assert measured["chance"].item() == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)


def vectors(tmp_path: Path, corpus: Artifact) -> Artifact:
    drawing = np.random.default_rng(0)

    def build(folder: Path) -> dict[str, object]:
        for name in ("passages", "queries"):
            rows = pl.read_parquet(corpus.file(f"{name}.parquet")).height
            drawn = drawing.normal(size=(rows, 8))
            unit = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
            np.save(folder / f"{name}.npy", unit.astype(np.float32))
        return {"similarity": "cosine"}

    return make_artifact(tmp_path / "artifacts", "encode", 1, {}, {"corpus": corpus.fingerprint}, build)


def by_hand(corpus: Artifact, encoded: Artifact, judged: pl.DataFrame) -> float:
    """Mean reciprocal rank of documents: the greatest product over each document's passages."""
    passages = pl.read_parquet(corpus.file("passages.parquet"))["hash"].to_list()
    queries = pl.read_parquet(corpus.file("queries.parquet"))["hash"].to_list()
    parts = pl.read_parquet(corpus.file("documents.parquet"))
    scores = np.load(encoded.file("queries.npy")) @ np.load(encoded.file("passages.npy")).T
    values = []
    for query, right, _ in judged.iter_rows():
        best = {
            document: max(scores[queries.index(query), passages.index(each)] for each in inside)
            for document, inside in parts.group_by("document_hash").agg("passage_hash").iter_rows()
        }
        values.append(1 / (sorted(best, key=lambda each: -best[each]).index(right) + 1))
    return float(np.mean(values))


def test_a_document_named_like_a_part_of_another_is_refused(tmp_path: Path) -> None:
    source = Source(path=str(beir(tmp_path / "beir", {**DOCUMENTS, "cats#2": "Cats again."})), chunk=CHUNK)
    with pytest.raises(CorpusError, match="document id 'cats#2' is also what a part of 'cats' would be called"):
        make_corpus(tmp_path / "artifacts", source)


def test_cutting_makes_another_corpus_and_not_cutting_leaves_each_text_whole(corpus: Artifact, tmp_path: Path) -> None:
    """Pitfall 2: a corpus cut otherwise under the same name would be searched with the vectors of another."""
    path = str(tmp_path / "beir")
    other = make_corpus(tmp_path / "artifacts", Source(path=path, chunk=Chunk(tokens=7, overlap=1)))
    whole = make_corpus(tmp_path / "artifacts", Source(path=path))
    assert len({corpus.fingerprint, other.fingerprint, whole.fingerprint}) == 3
    assert pl.read_parquet(whole.file("passages.parquet")).height == len(DOCUMENTS)
    assert Documents.read(whole).parts is None
