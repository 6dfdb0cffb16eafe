"""Mining gives what brute force gives, and never what is known, doubled or the query itself."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tiny_corpus import make_corpus

import tasks.mine.search as searching
from tasks.artifacts import Artifact, make_artifact
from tasks.mine.excluded import plain_form
from tasks.mine.miners import Miner, Miners
from tasks.mine.mining import mine_candidates
from tasks.mine.retrieve import flat
from tasks.mine.search import top_k
from tasks.mine.settings import Mining
from warehouse.texts import text_hash


def brute_force(queries: np.ndarray, passages: np.ndarray, k: int) -> np.ndarray:
    scores = queries @ passages.T
    rows = np.broadcast_to(np.arange(len(passages)), scores.shape)
    return np.lexsort((rows, -scores), axis=1)[:, :k]


def whole_numbers(rows: int, width: int, seed: int) -> np.ndarray:
    """Vectors whose inner products are exact in float32, so that equal scores are equal bit for bit."""
    return np.random.default_rng(seed).integers(-2, 3, (rows, width)).astype(np.float32)


@pytest.mark.parametrize("k", [1, 7, 150, 299, 300, 1000])
def test_search_equals_brute_force_with_ties_going_to_the_lower_row(k: int) -> None:
    """Pitfall 20: with tied scores at the end of the list, a heap keeps whichever came first or last."""
    queries, passages = whole_numbers(40, 4, 0), whole_numbers(300, 4, 1)
    scores, rows = top_k(queries, passages, k)
    expected = brute_force(queries, passages, k)
    assert np.array_equal(rows, expected)
    assert np.array_equal(scores, np.take_along_axis(queries @ passages.T, expected, axis=1))


@pytest.mark.parametrize("block", [16, 64, 299])
def test_the_sizes_of_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Pitfall 15: search goes block by block; the merge must not lose or reorder anything."""
    queries, passages = whole_numbers(40, 4, 2), whole_numbers(300, 4, 3)
    monkeypatch.setattr(searching, "PASSAGE_BLOCK", block)
    monkeypatch.setattr(searching, "QUERY_BLOCK", 7)
    for k in (5, 70):
        assert np.array_equal(top_k(queries, passages, k)[1], brute_force(queries, passages, k))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(1, 40), st.integers(1, 70), st.integers(0, 1000))
def test_search_equals_brute_force_for_any_shape(passages: int, queries: int, k: int, seed: int) -> None:
    asked, held = whole_numbers(queries, 3, seed), whole_numbers(passages, 3, seed + 1)
    assert np.array_equal(top_k(asked, held, k)[1], brute_force(asked, held, k))


def test_search_refuses_vectors_that_are_not_finite() -> None:
    """A NaN compares with nothing: the search would leave the passage out without a word."""
    passages = whole_numbers(10, 4, 0)
    passages[3, 1] = np.nan
    with pytest.raises(ValueError, match="passage row 3"):
        top_k(whole_numbers(2, 4, 1), passages, 5)


def test_minus_one_of_a_search_is_no_passage() -> None:
    """Pitfall 17: -1 read as an index is the last passage."""
    scores = np.array([[0.9, 0.5, -np.inf]], np.float32)
    rows = np.array([[4, 2, -1]])
    assert flat(np.array([7]), scores, rows).rows() == [(7, 4, np.float32(0.9)), (7, 2, np.float32(0.5))]


PASSAGES = [f"passage number {number}" for number in range(30)]
QUERIES = {"train one": "train", "train two": "train", "train bare": "train", "dev one": "dev", "test one": "test"}
LABELS = [
    ("train one", PASSAGES[0], 1),
    ("train one", PASSAGES[1], 2),
    ("train one", PASSAGES[2], 0),
    ("train two", PASSAGES[0], 1),
    ("dev one", PASSAGES[3], 1),
    ("test one", PASSAGES[4], 1),
]


def by(vectors: Artifact) -> Miners:
    """The same student in every part."""
    miner = Miner(system="warm", vectors=vectors)
    return Miners.first(miner, miner)


def make_vectors(root: Path, corpus: Artifact, seed: int = 0) -> Artifact:
    def build(folder: Path) -> dict[str, object]:
        for number, name in enumerate(("passages", "queries")):
            rows = pl.read_parquet(corpus.file(f"{name}.parquet")).height
            np.save(folder / f"{name}.npy", whole_numbers(rows, 4, seed + number))
        return {"similarity": "dot"}

    return make_artifact(root, "encode", 1, {"seed": seed}, {"corpus": corpus.fingerprint}, build)


def expected_lists(corpus: Artifact, vectors: Artifact, known: dict[str, set[str]]) -> dict[str, list[str]]:
    """Rank with numpy, then take out what is known: passage texts by query text."""
    passages, queries = (pl.read_parquet(corpus.file(f"{name}.parquet")) for name in ("passages", "queries"))
    matrix = [np.load(vectors.file(f"{name}.npy")) for name in ("queries", "passages")]
    order = brute_force(matrix[0], matrix[1], passages.height)
    texts = passages["text"].to_list()
    return {
        query: [texts[at] for at in order[row] if texts[at] not in known[query]]
        for row, query in enumerate(queries["text"])
        if query in known
    }


def mined_lists(artifact: Artifact, texts: list[str]) -> dict[int, list[str]]:
    by_hash = {text_hash(text): text for text in texts}
    candidates = pl.read_parquet(artifact.file("candidates.parquet"))
    assert candidates.height
    return {
        int(query): [by_hash[code] for code in part.sort("rank")["passage_hash"]]
        for (query,), part in candidates.group_by("query_hash")
    }


@pytest.mark.parametrize(("first", "last", "depth"), [(1, 10, 10), (3, 9, 20), (1, 30, 100)])
def test_a_window_counts_ranks_after_known_positives_are_out(tmp_path: Path, first: int, last: int, depth: int) -> None:
    """Pitfall 18: ranks counted before, or after other filters, make “3–9” mean something else."""
    corpus = make_corpus(tmp_path, PASSAGES, QUERIES, LABELS)
    vectors = make_vectors(tmp_path, corpus)
    artifact = mine_candidates(tmp_path, corpus, by(vectors), Mining(depth=depth, first_rank=first, last_rank=last))
    known = {"train one": {PASSAGES[0], PASSAGES[1]}, "train two": {PASSAGES[0]}}
    expected = expected_lists(corpus, vectors, known)
    assert mined_lists(artifact, PASSAGES) == {
        text_hash(query): found[first - 1 : last] for query, found in expected.items()
    }
    candidates = pl.read_parquet(artifact.file("candidates.parquet"))
    ranks = candidates.filter(pl.col("query_hash") == text_hash("train one"))["rank"].to_list()
    assert ranks == list(range(first, min(last, 28) + 1))
    assert candidates.equals(candidates.sort("query_hash", "rank"))
    assert candidates.schema["rank"] == pl.Int32 and candidates.schema["student_score"] == pl.Float32


def test_pairs_are_the_candidates_and_the_labelled_positives_once(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path, PASSAGES, QUERIES, LABELS)
    artifact = mine_candidates(tmp_path, corpus, by(make_vectors(tmp_path, corpus)), Mining(depth=5, last_rank=5))
    candidates = pl.read_parquet(artifact.file("candidates.parquet")).select("query_hash", "passage_hash").rows()
    positives = [(text_hash(query), text_hash(passage)) for query, passage, grade in LABELS[:4] if grade > 0]
    assert pl.read_parquet(artifact.file("pairs.parquet")).rows() == sorted({*candidates, *positives})
    assert artifact.facts["pairs"] == 10 + 3


def test_only_train_queries_with_a_positive_are_mined(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path, PASSAGES, QUERIES, LABELS)
    artifact = mine_candidates(tmp_path, corpus, by(make_vectors(tmp_path, corpus)), Mining(depth=5, last_rank=5))
    assert set(mined_lists(artifact, PASSAGES)) == {text_hash("train one"), text_hash("train two")}


def test_a_train_label_on_a_test_query_is_refused(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path, PASSAGES, QUERIES, LABELS)
    labels = pl.read_parquet(corpus.file("labels.parquet"))
    labels.with_columns(split=pl.lit("train")).write_parquet(corpus.path / "labels.parquet")
    with pytest.raises(ValueError, match="2 train labels belong to queries of other splits"):
        mine_candidates(tmp_path, corpus, by(make_vectors(tmp_path, corpus)), Mining())


def test_duplicates_of_a_positive_and_the_query_itself_are_never_candidates(tmp_path: Path) -> None:
    """Pitfall 16: the positive in other spacing or capitals, or the query's own text, mined as a negative."""
    doubles = [PASSAGES[0].upper(), PASSAGES[1].replace(" ", "  \t"), "Train  ONE"]
    passages = [*PASSAGES, *doubles]
    corpus = make_corpus(tmp_path, passages, QUERIES, LABELS)
    vectors = make_vectors(tmp_path, corpus)
    artifact = mine_candidates(tmp_path, corpus, by(vectors), Mining(depth=40, last_rank=40))
    lists = mined_lists(artifact, passages)
    out = {"train one": {*PASSAGES[:2], *doubles}, "train two": {PASSAGES[0], doubles[0]}}
    assert lists == {text_hash(query): found for query, found in expected_lists(corpus, vectors, out).items()}
    assert artifact.facts["excluded"] == {"positive": 3, "duplicate": 3, "own text": 1, "same document": 0}
    assert all(len(found) == len(set(found)) for found in lists.values())


def test_a_list_is_as_deep_as_asked_however_many_positives_rank_above(tmp_path: Path) -> None:
    """Pitfall 17: retrieving only `depth` and then taking out positives gives fewer than asked."""
    labels = [("train one", passage, 1) for passage in PASSAGES[:20]] + [("train two", PASSAGES[0], 1)]
    corpus = make_corpus(tmp_path, PASSAGES, QUERIES, labels)
    artifact = mine_candidates(tmp_path, corpus, by(make_vectors(tmp_path, corpus)), Mining(depth=10, last_rank=10))
    assert {len(found) for found in mined_lists(artifact, PASSAGES).values()} == {10}
    assert artifact.facts["short_lists"] == 0


def test_lists_that_the_corpus_cannot_fill_are_counted(tmp_path: Path) -> None:
    """Pitfall 19: too few survivors are reported, never filled up."""
    corpus = make_corpus(tmp_path, PASSAGES[:5], QUERIES, LABELS)
    artifact = mine_candidates(tmp_path, corpus, by(make_vectors(tmp_path, corpus)), Mining(depth=4, last_rank=4))
    lengths = sorted(len(found) for found in mined_lists(artifact, PASSAGES).values())
    assert lengths == [3, 4]
    assert artifact.facts["short_lists"] == 1


def test_vectors_of_another_corpus_are_refused(tmp_path: Path) -> None:
    """Pitfall 6: rows of one corpus read as rows of another."""
    small, large = (make_corpus(tmp_path, PASSAGES[:size], QUERIES, LABELS) for size in (20, 30))
    with pytest.raises(ValueError, match="20 rows and the corpus 30 passages"):
        mine_candidates(tmp_path, large, by(make_vectors(tmp_path, small)), Mining())


def test_other_settings_are_another_artifact(tmp_path: Path) -> None:
    """Pitfall 2: a step skipped because a file exists, though its settings changed."""
    corpus = make_corpus(tmp_path, PASSAGES, QUERIES, LABELS)
    vectors = make_vectors(tmp_path, corpus)
    ten, five, again = (
        mine_candidates(tmp_path, corpus, by(vectors), Mining(depth=10, last_rank=n)) for n in (10, 5, 10)
    )
    other = mine_candidates(
        tmp_path, corpus, by(make_vectors(tmp_path, corpus, seed=7)), Mining(depth=10, last_rank=10)
    )
    assert ten == again
    assert len({ten.fingerprint, five.fingerprint, other.fingerprint}) == 3


def test_a_window_outside_the_depth_is_refused_with_the_numbers() -> None:
    with pytest.raises(ValidationError, match="ranks 30–100 don't fit in a depth of 50"):
        Mining(depth=50, first_rank=30, last_rank=100)
    with pytest.raises(ValidationError, match="ranks 9–3"):
        Mining(first_rank=9, last_rank=3)


def test_plain_form_ignores_case_spacing_and_unicode_form() -> None:
    assert plain_form(" Ａ  b\nSTRASSE ") == plain_form("a B straße")
    assert plain_form("a-b") != plain_form("a b")
