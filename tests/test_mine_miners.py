"""Several miners, approximate indexes and near duplicates, from vectors to candidates."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tiny_corpus import make_corpus

import tasks.mine.mining as mining
from tasks.artifacts import Artifact, make_artifact
from tasks.mine.index import ApproximateIndex, recall
from tasks.mine.miners import Miner, Miners
from tasks.mine.mining import mine_candidates
from tasks.mine.search import top_k
from tasks.mine.settings import Index, Mining
from warehouse.texts import text_hash

WORDS = [
    *("red", "blue", "green", "cat", "dog", "house", "tree", "river"),
    *("open", "close", "read", "write", "file", "list", "sort"),
]
PASSAGES = [f"{WORDS[n % 15]} {WORDS[(n // 15 + 3 * n) % 15]} number{n}" for n in range(60)]
QUERIES = {f"{WORDS[n]} {WORDS[n + 1]}": "train" for n in range(6)} | {"nobody asked this": "", "dev cat": "dev"}
LABELS = [(query, PASSAGES[number], 1) for number, query in enumerate(QUERIES) if QUERIES[query]]


def unit(rows: int, seed: int, width: int = 8) -> np.ndarray:
    found = np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def student(root: Path, corpus: Artifact, system: str, seed: int, copies: dict[str, str] | None = None) -> Miner:
    """Random unit vectors; texts of `copies` get the vector of another text."""

    def build(folder: Path) -> dict[str, object]:
        for number, name in enumerate(("passages", "queries")):
            texts = pl.read_parquet(corpus.file(f"{name}.parquet"))["text"].to_list()
            vectors = unit(len(texts), seed + number)
            for text, other in (copies or {}).items():
                if text in texts:
                    vectors[texts.index(text)] = vectors[texts.index(other)]
            np.save(folder / f"{name}.npy", vectors)
        return {"similarity": "cosine"}

    inputs = {"corpus": corpus.fingerprint, "student": system}
    return Miner(system=system, vectors=make_artifact(root, "encode", 1, {"copies": copies}, inputs, build))


@pytest.fixture
def corpus(tmp_path: Path) -> Artifact:
    return make_corpus(tmp_path, PASSAGES, QUERIES, LABELS)


@pytest.fixture
def miners(tmp_path: Path, corpus: Artifact) -> Miners:
    base, warm, last = (
        student(tmp_path, corpus, name, seed) for name, seed in (("base", 1), ("warm", 3), ("round-1", 5))
    )
    return Miners.first(base, warm).then(last)


def mine(root: Path, corpus: Artifact, students: Miners, **settings: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    artifact = mine_candidates(root, corpus, students, Mining(**{"depth": 5, "last_rank": 5, **settings}))
    return pl.read_parquet(artifact.file("candidates.parquet")), artifact.facts


def test_several_miners_are_joined_and_named(tmp_path: Path, corpus: Artifact, miners: Miners) -> None:
    """Each pair once (pitfall 16), found by whom, and with the current student's similarity, whoever found it."""
    found, facts = mine(tmp_path, corpus, miners, miners=["student", "base", "earlier", "bm25"])
    assert not found.select("query_hash", "passage_hash").is_duplicated().any()
    names = {name for joined in found["miner"] for name in joined.split("+")}
    assert names == {"round-1", "base", "warm", "bm25"} == set(facts["lists"])
    assert found.height < 6 * 20 and any("+" in joined for joined in found["miner"])
    alone = {name: mine(tmp_path, corpus, Miners.first(m, m), miners=["student"])[0] for name, m in {
        "round-1": miners.student, "base": miners.base, "warm": miners.warm}.items()}  # fmt: skip
    keys = ["query_hash", "passage_hash"]
    for name, own in alone.items():
        named = found.filter(pl.col("miner").str.split("+").list.contains(name))
        assert named.select(keys).sort(keys).equals(own.select(keys).sort(keys))
    vectors = [np.load(miners.student.vectors.file(f"{name}.npy")) for name in ("queries", "passages")]
    hashes = [pl.read_parquet(corpus.file(f"{name}.parquet"))["hash"].to_list() for name in ("queries", "passages")]
    for row in found.iter_rows(named=True):
        product = vectors[0][hashes[0].index(row["query_hash"])] @ vectors[1][hashes[1].index(row["passage_hash"])]
        assert row["student_score"] == pytest.approx(product, abs=1e-6)


def test_fused_lists_have_ranks_without_gaps(tmp_path: Path, corpus: Artifact, miners: Miners) -> None:
    found, facts = mine(tmp_path, corpus, miners, miners=["student", "bm25"], join="fusion")
    assert set(facts["lists"]) == {"hybrid", "round-1", "bm25"}, "near duplicates are counted where they were retrieved"
    for _, part in found.group_by("query_hash"):
        assert part.sort("rank")["rank"].to_list() == [1, 2, 3, 4, 5]


def test_the_same_student_under_two_names_is_asked_once(tmp_path: Path, corpus: Artifact, miners: Miners) -> None:
    """In round 1 the current student is the warm one: its list would be counted twice, its ranks fused with itself."""
    begin = Miners.first(miners.base, miners.warm)
    assert [each.system for each in begin.asked(Mining(miners=["student", "warm", "earlier"]))] == ["warm"]
    assert [each.system for each in miners.asked(Mining(miners=["earlier", "student"]))] == ["warm", "round-1"]


def test_only_students_that_are_asked_are_in_the_name(tmp_path: Path, corpus: Artifact, miners: Miners) -> None:
    """Pitfall 2: another base must not make mining by the student alone stale, and must where the base is asked."""
    other = miners.model_copy(update={"base": student(tmp_path, corpus, "other", 9)})
    for names, same in ((["student"], True), (["student", "base"], False)):
        settings = Mining(depth=5, last_rank=5, miners=names)  # type: ignore[arg-type]
        one, two = (mine_candidates(tmp_path, corpus, each, settings) for each in (miners, other))
        assert (one == two) is same


def test_every_passage_has_one_fate(tmp_path: Path, corpus: Artifact, miners: Miners) -> None:
    found, facts = mine(tmp_path, corpus, miners, depth=20, last_rank=15, ceiling=0.3, perc_pos=0.95, count=4)
    counts = facts["lists"]["round-1"]
    assert sum(counts.values()) == 6 * 20 + counts["near duplicate"]
    assert counts["outside the ranks"] == 6 * 5
    assert counts["kept"] == found.height
    assert counts["at the ceiling"] > 0 and counts["above perc_pos"] > 0


def test_blocks_of_queries_change_nothing(
    tmp_path: Path, corpus: Artifact, miners: Miners, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"miners": ["student", "bm25"], "count": 3, "picker": "random"}
    whole, facts = mine(tmp_path / "whole", corpus, miners, **settings)
    monkeypatch.setattr(mining, "SPAN", 4)
    parts, facts_of_parts = mine(tmp_path / "parts", corpus, miners, **settings)
    assert whole.equals(parts)
    assert facts == facts_of_parts


def test_queries_with_too_few_are_dropped_whole(tmp_path: Path, corpus: Artifact, miners: Miners) -> None:
    """A dropped query's positives would be scored for nothing, and train without a negative."""
    settings = Mining(depth=20, last_rank=20, ceiling=0.3, count=10, too_few="drop")
    artifact = mine_candidates(tmp_path, corpus, miners, settings)
    found, pairs = (pl.read_parquet(artifact.file(f"{name}.parquet")) for name in ("candidates", "pairs"))
    assert 0 < artifact.facts["dropped"] < 6
    assert set(found.group_by("query_hash").len()["len"]) == {10}
    assert set(pairs["query_hash"]) == set(found["query_hash"])
    fates = artifact.facts["lists"]["round-1"]
    assert fates["kept"] == found.height
    assert fates["query dropped"] > 0
    with pytest.raises(ValueError, match=r"what was retrieved for 6 queries \([\w-]+: \d+ at the ceiling\); a round"):
        mine(tmp_path, corpus, miners, ceiling=-0.99)


def test_a_ceiling_that_no_cosine_reaches_is_refused(tmp_path: Path, corpus: Artifact, miners: Miners) -> None:
    """Pitfall 7: a threshold on the wrong scale lets everything through."""
    with pytest.raises(ValueError, match=r"ceiling 7\.0 is on another scale"):
        mine(tmp_path, corpus, miners, ceiling=7.0)


def test_queries_without_labels_are_mined_where_asked_for(tmp_path: Path, corpus: Artifact, miners: Miners) -> None:
    found, _ = mine(tmp_path, corpus, miners, unlabelled=True)
    assert text_hash("nobody asked this") in set(found["query_hash"])
    assert text_hash("dev cat") not in set(found["query_hash"])


def test_near_duplicates_of_a_positive_are_no_candidates(tmp_path: Path) -> None:
    """Pitfall 16: the positive with a word more, mined as a negative. A paraphrase or an opposite stays."""
    positive = "how to open a text file and read all of its lines"
    near, other, opposite = f"{positive} now", "reading text files line by line", positive.replace("open", "close")
    labels = [(LABELS[0][0], positive, 1), *LABELS[1:]]
    corpus = make_corpus(tmp_path, [*PASSAGES, positive, near, other, opposite], QUERIES, labels)
    miner = student(tmp_path, corpus, "warm", 3, copies={near: positive, other: positive})
    settings = {"depth": 63, "last_rank": 63, "near_overlap": 0.9}
    found, facts = mine(tmp_path, corpus, Miners.first(miner, miner), **settings)
    first = set(found.filter(pl.col("query_hash") == text_hash(LABELS[0][0]))["passage_hash"])
    assert {text_hash(text) for text in (near, other, opposite)} - first == {text_hash(near)}
    assert facts["lists"]["warm"]["near duplicate"] == 1
    second = set(found.filter(pl.col("query_hash") == text_hash(LABELS[1][0]))["passage_hash"])
    assert text_hash(near) in second, "of another query's positive"
    found, _ = mine(tmp_path, corpus, Miners.first(miner, miner), **settings, near_duplicates=False)
    assert text_hash(near) in set(found.filter(pl.col("query_hash") == text_hash(LABELS[0][0]))["passage_hash"])


def test_the_same_words_are_a_near_duplicate_however_far_their_vectors_are(tmp_path: Path) -> None:
    """Quotes and exclamation marks moved a copy of the positive below the cosine: it was mined as a negative."""
    query, positive = LABELS[0][0], "Why wasn't the card sent?"
    copies = [f'"{positive}!!!"', "why wasn't the card sent", "Why wasnt the card: sent ..."]
    others = ["Why was the card sent?", "Why wasn't the card > sent?", "Sent the card? Why wasn't?", "?", "!!"]
    corpus = make_corpus(
        tmp_path, [*PASSAGES, positive, *copies, *others], QUERIES, [(query, positive, 1), *LABELS[1:]]
    )
    miner = student(tmp_path, corpus, "warm", 3)
    settings = {"depth": 68, "last_rank": 68}
    found, facts = mine(tmp_path, corpus, Miners.first(miner, miner), **settings)
    first = set(found.filter(pl.col("query_hash") == text_hash(query))["passage_hash"])
    assert first == {text_hash(text) for text in [*PASSAGES, *others]}
    assert facts["lists"]["warm"]["near duplicate"] == len(copies)
    found, _ = mine(tmp_path, corpus, Miners.first(miner, miner), **settings, near_duplicates=False)
    assert {text_hash(text) for text in copies} <= set(found["passage_hash"])


def test_texts_without_a_word_are_no_copies_of_each_other(tmp_path: Path) -> None:
    query = LABELS[0][0]
    corpus = make_corpus(tmp_path, [*PASSAGES, "+", "-"], QUERIES, [(query, "+", 1), *LABELS[1:]])
    miner = student(tmp_path, corpus, "warm", 3)
    found, _ = mine(tmp_path, corpus, Miners.first(miner, miner), depth=61, last_rank=61)
    assert text_hash("-") in set(found.filter(pl.col("query_hash") == text_hash(query))["passage_hash"])


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_an_index_that_looks_everywhere_finds_what_exact_search_finds(kind: Any) -> None:
    queries, passages = unit(30, 0), unit(2000, 1)
    everywhere = Index(kind=kind, clusters=16 if kind == "ivf" else 0, probes=16, looking=2000, building=400)
    index = ApproximateIndex(passages, everywhere)
    assert np.array_equal(index.ask(queries, 10)[1], top_k(queries, passages, 10)[1])
    assert recall(index, queries, passages, 10) == 1.0


def test_a_short_look_finds_less_says_so_and_gives_minus_one_for_nothing() -> None:
    """Pitfall 17: -1 counted as a find, or taken for the last passage."""
    queries, passages = unit(50, 0), unit(2000, 1)
    index = ApproximateIndex(passages, Index(kind="ivf", clusters=40, probes=1, sample=50))
    scores, rows = index.ask(queries, 200)
    assert (rows == -1).any() and np.isneginf(scores[rows == -1]).all()
    exact = top_k(queries, passages, 200)[1]
    expected = np.mean([len(set(a) & set(b)) / 200 for a, b in zip(exact.tolist(), rows.tolist(), strict=True)])
    assert 0.02 < expected < 0.5
    assert recall(index, queries, passages, 200) == pytest.approx(expected)


def test_an_approximate_index_mines_and_reports_its_recall(tmp_path: Path, corpus: Artifact, miners: Miners) -> None:
    index = {"kind": "hnsw", "looking": 60}
    found, facts = mine(tmp_path, corpus, miners, index=index)
    exact, exact_facts = mine(tmp_path, corpus, miners)
    assert found.drop("student_score").equals(exact.drop("student_score"))
    assert found["student_score"].to_list() == pytest.approx(exact["student_score"].to_list(), abs=1e-6)
    assert facts["recall"] == {"round-1": 1.0} and exact_facts["recall"] == {}


def test_too_few_passages_for_the_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match=r"60 passages are too few for 4 clusters \(39 a cluster are needed\)"):
        ApproximateIndex(unit(60, 0), Index(kind="ivf", clusters=4, probes=2))
