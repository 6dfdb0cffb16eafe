"""Evaluation: rankings over distinct texts, every value beside chance, and a teacher on top."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny_corpus import make_corpus
from vectors import write_vectors

from tasks.artifacts import Artifact, make_artifact
from tasks.baseline.settings import StudentSettings
from tasks.baseline.systems import base_student, describe_student, evaluate_bm25, evaluate_chance
from tasks.evaluate.ranking import rank_by_vectors, rerank
from tasks.evaluate.settings import Evaluation
from tasks.evaluate.systems import evaluate_reranked, evaluate_student
from tasks.refs import Blend, TeacherRef
from tasks.where import Where
from warehouse.texts import text_hash

PASSAGES = ["red cat", "blue dog", "green tree", "old house", "short list"]
QUERIES = {"which cat": "dev", "which dog": "test", "which tree": "train", "which house": "dev", "unlabelled": ""}
LABELS = [
    ("which cat", "red cat", 2),
    ("which cat", "short list", 1),
    ("which house", "old house", 1),
    ("which dog", "blue dog", 1),
    ("which tree", "green tree", 1),
]
SETTINGS = Evaluation(depth=100, rerank_depth=3)


def angle(degrees: float) -> list[float]:
    return [float(np.cos(np.radians(degrees))), float(np.sin(np.radians(degrees)))]


VECTORS = {
    **{text: angle(10 * number) for number, text in enumerate(PASSAGES)},
    **{"which cat": angle(0), "which dog": angle(12), "which tree": angle(0), "which house": angle(0)},
    "unlabelled": angle(0),
}


@pytest.fixture
def corpus(tmp_path: Path) -> Artifact:
    return make_corpus(tmp_path, PASSAGES, QUERIES, LABELS)


@pytest.fixture
def evaluated(tmp_path: Path, corpus: Artifact) -> Artifact:
    return evaluate_student(tmp_path, "warm", corpus, write_vectors(tmp_path, corpus, VECTORS), SETTINGS)


def value(artifact: Artifact, split: str, measure: str) -> float:
    rows = pl.read_parquet(artifact.file("metrics.parquet"))
    found: float = rows.filter((pl.col("split") == split) & (pl.col("measure") == measure))["value"].item()
    return found


def order(artifact: Artifact, query: str) -> list[str]:
    names = {text_hash(text): text for text in PASSAGES}
    rows = pl.read_parquet(artifact.file("ranking.parquet")).filter(pl.col("query_hash") == text_hash(query))
    assert rows["rank"].to_list() == list(range(1, rows.height + 1))
    return [names[passage] for passage in rows["passage_hash"]]


def score_of(root: Path, logits: dict[tuple[str, str], float]) -> Artifact:
    rows = [(text_hash(query), text_hash(passage), logit) for (query, passage), logit in logits.items()]
    schema = {"query_hash": pl.Int64, "passage_hash": pl.Int64, "logit": pl.Float32}
    frame = pl.DataFrame(rows, schema=schema, orient="row")

    def build(folder: Path) -> dict[str, int]:
        frame.write_parquet(folder / "scores.parquet")
        return {"pairs": frame.height}

    return make_artifact(root, "score", 1, {"scores": sorted(logits.values())}, {}, build)


def teacher_of(weight: float = 1.0) -> TeacherRef:
    return TeacherRef(fingerprint="t", path=Path("t"), name="t", blend=Blend(weight=weight))


def test_students_are_measured_on_dev_and_test_only(evaluated: Artifact) -> None:
    assert order(evaluated, "which cat") == ["red cat", "blue dog", "green tree", "old house", "short list"]
    assert order(evaluated, "which dog")[:2] == ["blue dog", "green tree"]
    assert order(evaluated, "which tree") == []
    assert order(evaluated, "unlabelled") == []
    assert value(evaluated, "dev", "RR@10") == pytest.approx((1 + 1 / 4) / 2)
    assert value(evaluated, "dev", "AP") == pytest.approx(((1 + 2 / 5) / 2 + 1 / 4) / 2)
    assert value(evaluated, "test", "RR@10") == 1.0


def test_every_value_stands_beside_chance_and_the_number_of_queries(evaluated: Artifact) -> None:
    """Pitfall 38."""
    rows = pl.read_parquet(evaluated.file("metrics.parquet"))
    assert rows.columns == ["system", "split", "measure", "value", "chance", "queries"]
    dev = rows.filter((pl.col("split") == "dev") & (pl.col("measure") == "RR@10"))
    one_of_five = (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5
    two_of_five = sum(chance / rank for rank, chance in ((1, 0.4), (2, 0.3), (3, 0.2), (4, 0.1)))
    assert dev["chance"].item() == pytest.approx((one_of_five + two_of_five) / 2)
    assert dict(rows.select("split", "queries").unique().iter_rows()) == {"dev": 2, "test": 1}


def test_values_per_query_average_to_the_measure(evaluated: Artifact) -> None:
    rows = pl.read_parquet(evaluated.file("query_metrics.parquet"))
    assert rows.columns == ["system", "split", "query_hash", "measure", "value"]
    chosen = rows.filter((pl.col("split") == "dev") & (pl.col("measure") == "nDCG@10"))
    assert set(chosen["query_hash"]) == {text_hash("which cat"), text_hash("which house")}
    assert chosen["value"].mean() == pytest.approx(value(evaluated, "dev", "nDCG@10"))


def test_pairs_are_the_first_passages_of_every_ranking(evaluated: Artifact) -> None:
    pairs = pl.read_parquet(evaluated.file("pairs.parquet"))
    ranking = pl.read_parquet(evaluated.file("ranking.parquet")).filter(pl.col("rank") <= 3)
    assert pairs.height == 9
    assert pairs.equals(ranking.select("query_hash", "passage_hash").sort("query_hash", "passage_hash"))


def test_the_measure_that_decides_is_not_part_of_the_name(
    tmp_path: Path, corpus: Artifact, evaluated: Artifact
) -> None:
    vectors = write_vectors(tmp_path, corpus, VECTORS)
    other = Evaluation(depth=100, rerank_depth=3, measure="AP")
    assert evaluate_student(tmp_path, "warm", corpus, vectors, other) == evaluated
    deeper = Evaluation(depth=100, rerank_depth=4)
    assert evaluate_student(tmp_path, "warm", corpus, vectors, deeper) != evaluated
    assert evaluate_student(tmp_path, "base", corpus, vectors, SETTINGS) != evaluated


def test_equal_similarities_are_ranked_by_row(tmp_path: Path, corpus: Artifact) -> None:
    """Pitfall 20."""
    vectors = write_vectors(tmp_path, corpus, {text: [1.0, 0.0] for text in VECTORS})
    ranking = rank_by_vectors(corpus, vectors, [text_hash("which cat")], 3)
    assert ranking["passage_hash"].to_list() == sorted(text_hash(text) for text in PASSAGES)[:3]


def test_vectors_of_another_corpus_are_refused(tmp_path: Path, corpus: Artifact) -> None:
    larger = make_corpus(tmp_path, [*PASSAGES, "one more"], QUERIES, LABELS)
    vectors = write_vectors(tmp_path, corpus, VECTORS)
    with pytest.raises(ValueError, match="5 rows and the corpus 6 texts"):
        evaluate_student(tmp_path, "base", larger, vectors, SETTINGS)


@pytest.mark.parametrize("kind", ["passage", "query"])
def test_labels_of_texts_that_are_not_there_are_refused(tmp_path: Path, corpus: Artifact, kind: str) -> None:
    """Pitfall 33: the score would be low and nothing would complain."""
    path = corpus.file("labels.parquet")
    labels = pl.read_parquet(path)
    lost = labels.head(1).with_columns(pl.lit(12345, pl.Int64).alias(f"{kind}_hash"))
    pl.concat([labels, lost]).write_parquet(path)
    with pytest.raises(ValueError, match=f"1 labels name a {kind} that the corpus does not have .*12345"):
        evaluate_chance(tmp_path, corpus, 100)


def test_a_corpus_without_a_dev_positive_is_refused(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path, PASSAGES, QUERIES, [("which dog", "blue dog", 1)])
    with pytest.raises(ValueError, match="no dev query has a positive label"):
        evaluate_chance(tmp_path, corpus, 100)


def test_a_corpus_without_test_is_measured_on_dev(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path, PASSAGES, QUERIES, LABELS[:3])
    rows = pl.read_parquet(evaluate_bm25(tmp_path, corpus, 100).file("metrics.parquet"))
    assert rows["split"].unique().to_list() == ["dev"]


def test_duplicates_are_one_passage(tmp_path: Path) -> None:
    """Two ids of the labelled text don't take two ranks, and chance knows it."""
    corpus = make_corpus(tmp_path, [*PASSAGES, "red cat"], QUERIES, [*LABELS, ("which cat", "red cat", 1)])
    vectors = write_vectors(tmp_path, corpus, VECTORS)
    artifact = evaluate_student(tmp_path, "base", corpus, vectors, SETTINGS)
    assert order(artifact, "which cat").count("red cat") == 1
    plain = evaluate_chance(tmp_path, make_corpus(tmp_path, PASSAGES, QUERIES, LABELS), 100)
    assert value(evaluate_chance(tmp_path, corpus, 100), "dev", "AP") == value(plain, "dev", "AP")


def test_chance_and_bm25_are_systems_like_any_other(tmp_path: Path, corpus: Artifact) -> None:
    chance, bm25 = evaluate_chance(tmp_path, corpus, 100), evaluate_bm25(tmp_path, corpus, 100)
    rows = pl.read_parquet(chance.file("metrics.parquet"))
    assert rows["value"].to_list() == rows["chance"].to_list()
    assert set(rows["system"]) == {"chance"}
    assert value(bm25, "test", "RR@10") == 1.0
    assert order(bm25, "which cat") == ["red cat"]
    assert value(bm25, "dev", "R@100") == pytest.approx((1 / 2 + 1) / 2)


def test_a_teacher_reorders_the_first_passages_and_leaves_the_rest(tmp_path: Path, corpus: Artifact) -> None:
    vectors = write_vectors(tmp_path, corpus, VECTORS)
    ranked = evaluate_student(tmp_path, "round-1", corpus, vectors, SETTINGS)
    liked = {"green tree": 5.0, "red cat": -1.0, "blue dog": 2.0, "old house": 99.0, "short list": 98.0}
    scored = score_of(tmp_path, {(query, text): logit for query in QUERIES for text, logit in liked.items()})
    again = evaluate_reranked(tmp_path, corpus, ranked, scored, teacher_of())
    assert order(again, "which cat") == ["green tree", "blue dog", "red cat", "old house", "short list"]
    assert value(again, "dev", "RR@10") == pytest.approx((1 / 3 + 1 / 4) / 2)
    assert again.facts["system"] == "round-1+teacher"


def test_the_teacher_over_the_warm_student_is_called_teacher(
    tmp_path: Path, corpus: Artifact, evaluated: Artifact
) -> None:
    scored = score_of(tmp_path, {(query, text): 0.0 for query in QUERIES for text in PASSAGES})
    again = evaluate_reranked(tmp_path, corpus, evaluated, scored, teacher_of())
    assert again.facts["system"] == "teacher"
    assert order(again, "which cat") == order(evaluated, "which cat"), "equal judgements keep the student's order"


def test_the_blend_decides_between_teacher_and_student(tmp_path: Path, corpus: Artifact, evaluated: Artifact) -> None:
    liked = {"red cat": 0.0, "blue dog": 0.1, "green tree": 0.2, "old house": 0.0, "short list": 0.0}
    scored = score_of(tmp_path, {(query, text): logit for query in QUERIES for text, logit in liked.items()})
    orders = {
        weight: order(evaluate_reranked(tmp_path, corpus, evaluated, scored, teacher_of(weight)), "which cat")[0]
        for weight in (0.0, 0.2, 0.8, 1.0)
    }
    assert orders == {0.0: "red cat", 0.2: "red cat", 0.8: "green tree", 1.0: "green tree"}


def test_a_pair_without_a_score_is_refused(tmp_path: Path, corpus: Artifact, evaluated: Artifact) -> None:
    """Pitfall 8: a default in its place would decide its rank."""
    scored = score_of(tmp_path, {("which cat", "red cat"): 1.0})
    with pytest.raises(ValueError, match="8 of the 9 pairs to re-rank have no judgement"):
        evaluate_reranked(tmp_path, corpus, evaluated, scored, teacher_of())


def test_reranking_only_permutes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ranking = pl.DataFrame(
        {
            "query_hash": np.repeat([1, 2], 8),
            "passage_hash": np.tile(np.arange(8), 2),
            "rank": np.tile(np.arange(1, 9, dtype=np.int32), 2),
            "score": np.tile(np.linspace(1, 0, 8, dtype=np.float32), 2),
        }
    )
    judged = ranking.with_columns(judgement=pl.Series(rng.normal(size=16)))
    again = rerank(ranking, judged, 5)
    assert again.select("query_hash", "rank").equals(ranking.select("query_hash", "rank"))
    assert again.sort("query_hash", "passage_hash")["passage_hash"].equals(ranking["passage_hash"])
    assert again.filter(pl.col("rank") > 5).equals(ranking.filter(pl.col("rank") > 5))
    top = again.filter(pl.col("rank") <= 5)
    assert top.sort("query_hash", "score", descending=[False, True]).equals(top)


def test_re_ranking_deeper_than_retrieved_is_refused() -> None:
    with pytest.raises(ValueError, match="rerank_depth 101 is deeper than the 100"):
        Evaluation(rerank_depth=101)


def test_the_base_is_the_folder_itself(tmp_path: Path, tiny_student: Path) -> None:
    base = base_student(Where(home=tmp_path), StudentSettings(model=str(tiny_student)))
    assert base.path == tiny_student.resolve()
    assert base.system == "base"
    assert describe_student(base.path)["similarity"] == "cosine"


def test_other_prompts_or_length_make_another_student(tmp_path: Path, tiny_student: Path) -> None:
    """Pitfall 32: prompts of the recipe must be in what is mined, evaluated and served, not only in training."""
    from models.runtime import configure
    from models.student import Student

    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1)
    plain = base_student(where, StudentSettings(model=str(tiny_student)))
    prompted = base_student(where, StudentSettings(model=str(tiny_student), prompts={"query": "ask: "}))
    bare = base_student(where, StudentSettings(model=str(tiny_student), prompts={"query": ""}))
    shorter = base_student(where, StudentSettings(model=str(tiny_student), max_length=8))
    assert len({base.fingerprint for base in (plain, prompted, bare, shorter)}) == 4
    loaded = Student.load(prompted.path, configure("cpu", "fp32", 1))
    assert (loaded.query_prompt, loaded.passage_prompt) == ("ask: ", "passage ")
    assert Student.load(bare.path, configure("cpu", "fp32", 1)).query_prompt == ""
    assert describe_student(prompted.path)["prompts"]["query"] == "ask: "
    assert Student.load(shorter.path, configure("cpu", "fp32", 1)).max_length == 8
    assert describe_student(shorter.path)["max_length"] == 8
    again = base_student(where, StudentSettings(model=str(tiny_student), max_length=8))
    assert again == shorter
