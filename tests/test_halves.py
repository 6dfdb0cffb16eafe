"""What chooses never decides: dev in two halves, each used by its steps alone."""

from pathlib import Path

import polars as pl
import pytest
from tiny_corpus import make_corpus

from tasks.artifacts import Artifact, make_artifact
from tasks.evaluate.halves import LEAST, chosen_by, decide, deciding, select
from tasks.promote.deciding import Contender
from tasks.promote.deciding import decide as promotion
from tasks.promote.settings import Promotion
from tasks.refs import StudentRef, TeacherRef
from tasks.teach.calibrating import calibration
from tasks.teach.gate import Gate, judge_teacher
from tasks.teach.reranking import rerank_measure
from tasks.train.amount import look_amount
from warehouse.texts import text_hash

COUNT = 480
DEV = [f"how to do {number}" for number in range(COUNT)]
HASHES = pl.DataFrame({"query_hash": [text_hash(text) for text in DEV]})


def chooses() -> set[int]:
    return set(select(HASHES)["query_hash"].to_list())


def test_every_query_is_in_one_half_and_both_are_about_as_large() -> None:
    halves = [set(half(HASHES)["query_hash"].to_list()) for half in (select, decide)]
    assert halves[0] | halves[1] == set(HASHES["query_hash"].to_list())
    assert not halves[0] & halves[1]
    assert 0.4 * COUNT < len(halves[0]) < 0.6 * COUNT


def test_a_query_stays_in_its_half_when_others_come_and_go() -> None:
    fewer = HASHES.head(LEAST)
    assert set(select(fewer)["query_hash"].to_list()) == chooses() & set(fewer["query_hash"].to_list())


def test_few_queries_serve_both() -> None:
    few = HASHES.head(LEAST - 1)
    assert select(few).equals(few) and decide(few).equals(few)


def evaluated(root: Path, system: str, good: set[int]) -> Artifact:
    """A system that has 1 on some queries and 0 on the others."""
    values = [float(each in good) for each in HASHES["query_hash"]]
    frame = HASHES.with_columns(split=pl.lit("dev"), measure=pl.lit("nDCG@10"), value=pl.Series(values))

    def build(folder: Path) -> dict[str, str]:
        frame.write_parquet(folder / "query_metrics.parquet")
        return {"system": system}

    return make_artifact(root, "evaluate", 1, {"system": system, "good": len(good)}, {}, build)


@pytest.fixture
def halves(tmp_path: Path) -> tuple[Artifact, Artifact]:
    """Two systems: the first is right about every query that chooses, the second about every one that decides."""
    chosen = chooses()
    others = set(HASHES["query_hash"].to_list()) - chosen
    return evaluated(tmp_path, "warm", chosen), evaluated(tmp_path, "teacher", others)


def test_promotion_and_gate_look_at_the_half_that_decides(halves: tuple[Artifact, Artifact], tmp_path: Path) -> None:
    """Checkpoints were chosen by the other half: there every student looks better than it is."""
    first, second = halves
    students = [StudentRef(system=name, fingerprint=name, path=tmp_path) for name in ("warm", "round-1")]
    old, new = (Contender(*each) for each in zip(students, halves, strict=True))
    decision = promotion(tmp_path, old, new, Promotion(), "nDCG@10")
    assert decision.promoted and decision.difference == 1.0
    assert decision.artifact.facts["halved"] and decision.artifact.facts["queries"] == COUNT - len(chooses())
    gate = judge_teacher(tmp_path, first, second, Gate(rule="stop", measure="nDCG@10", seed=0))
    assert gate.facts["passed"] and gate.facts["difference"] == 1.0


def corpus_of(root: Path, queries: list[str]) -> Artifact:
    """One relevant passage, which all queries share."""
    texts = {**dict.fromkeys(queries, "dev"), "learn": "train"}
    labels = [(query, "right", 1) for query in texts]
    return make_corpus(root, ["right", "wrong"], texts, labels)


class Knows:
    """A teacher that is right about the queries that choose, and wrong about the others."""

    def score(self, texts: list[tuple[str, str]], batch_tokens: int | None) -> "Knows":
        known = chooses()
        self.logits = [1.0 if (text_hash(query) in known) == (passage == "right") else -1.0 for query, passage in texts]
        return self


def ranked(root: Path) -> tuple[Artifact, Artifact]:
    """A student that ranks the wrong passage first, and the teacher's scores of what it ranked."""
    hashes = sorted(HASHES["query_hash"].to_list())
    keys = {
        "query_hash": [each for each in hashes for _ in range(2)],
        "passage_hash": [text_hash("wrong"), text_hash("right")] * COUNT,
    }
    known = chooses()
    logits = [2.0 if (query in known) == (at == 1) else -2.0 for query in hashes for at in range(2)]

    def build(folder: Path) -> dict[str, str]:
        made = pl.DataFrame({**keys, "rank": [1, 2] * COUNT, "score": [0.9, 0.1] * COUNT, "logit": logits})
        made = made.with_columns(pl.col("rank").cast(pl.Int32), pl.col("score").cast(pl.Float32))
        made.drop("logit").write_parquet(folder / "ranking.parquet")
        made.select("query_hash", "passage_hash", "logit").write_parquet(folder / "scores.parquet")
        return {}

    both = make_artifact(root, "evaluate", 1, {"rerank_depth": 2}, {}, build)
    return both, both


def test_checkpoints_blend_and_calibration_look_at_the_half_that_chooses(tmp_path: Path) -> None:
    corpus, (ranking, scores) = corpus_of(tmp_path, DEV), ranked(tmp_path)
    assert rerank_measure(corpus, ranking, "nDCG@1", COUNT, None)(Knows()) == 1.0  # type: ignore[arg-type]
    teacher = TeacherRef(fingerprint="t", path=tmp_path, name="t")
    found = calibration(tmp_path, corpus, teacher, (ranking, scores), ([0.0, 1.0], "nDCG@1")).facts
    assert found["weight"] == 1.0 and found["tried"]["1.0"] == 1.0
    assert found["a"] > 1, "by the half that decides, the teacher is upside down"


def test_a_student_is_looked_at_by_the_half_that_chooses(tmp_path: Path) -> None:
    from tasks.train.dev import dev_measure

    corpus = corpus_of(tmp_path, DEV)
    asked: list[str] = []

    class Student:
        def encode_queries(self, texts: list[str], batch_tokens: None, tick: None) -> None:
            asked.extend(texts)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        dev_measure(corpus, "nDCG@10", None)(Student())  # type: ignore[arg-type]
    assert {text_hash(text) for text in asked} == chooses()
    passages, labels = (pl.read_parquet(corpus.file(f"{name}.parquet")) for name in ("passages", "labels"))
    assert look_amount(passages, labels)["queries"] == len(chooses())


def test_what_is_chosen_has_another_name_where_dev_is_halved_and_only_there(tmp_path: Path) -> None:
    """Pitfall 2: a checkpoint that all of dev chose, under the name of one that half of it chose."""
    assert chosen_by(corpus_of(tmp_path, DEV)) == {"dev": "select"}
    assert chosen_by(corpus_of(tmp_path, DEV[: LEAST - 1])) == {}
    assert chosen_by(Artifact(step="ingest", fingerprint="f", path=tmp_path / "not made")) == {}


def test_only_dev_is_halved() -> None:
    both = pl.concat([HASHES.with_columns(split=pl.lit(split)) for split in ("test", "dev")])
    assert set(deciding(both)["split"]) == {"dev"}
