"""The dev measure that chooses checkpoints: of a large corpus, a sample that holds every judged passage."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny import sentences
from tiny_corpus import make_corpus

from models.runtime import Runtime
from models.student import Encoded, Student
from tasks.evaluate.measures import mean_values, measure_queries
from tasks.evaluate.ranking import as_ranking
from tasks.evaluate.tables import read_judged
from tasks.mine.search import top_k
from tasks.train import dev
from tasks.train.amount import look_amount


@pytest.fixture
def corpus(tmp_path: Path) -> dev.Artifact:
    passages, queries = sentences(40, seed=1), sentences(6, seed=2)
    splits = {text: "dev" if number < 4 else "train" for number, text in enumerate(queries)}
    labels = [(query, passages[5 * number], 1) for number, query in enumerate(queries)]
    return make_corpus(tmp_path, passages, splits, labels)


def test_a_sample_holds_every_judged_passage_and_is_the_same_every_time(
    corpus: dev.Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judged passage that is not searched can't be found: every measure would be too low, by chance."""
    monkeypatch.setattr(dev, "MOST_PASSAGES", 12)
    passages = pl.read_parquet(corpus.file("passages.parquet"))
    judged = read_judged(corpus).splits["dev"]
    held = dev.looked_at(passages, judged)
    assert held.height == 12 and judged.height == 4
    assert set(judged["passage_hash"]) <= set(held["hash"]) and held["hash"].is_sorted()
    assert held.equals(dev.looked_at(passages, judged))
    monkeypatch.setattr(dev, "MOST_PASSAGES", 2)
    assert set(dev.looked_at(passages, judged)["hash"]) == set(judged["passage_hash"])
    assert look_amount(passages, pl.read_parquet(corpus.file("labels.parquet"))) == {"passages": 4, "queries": 4}


def test_queries_are_read_as_queries_and_passages_as_passages(corpus: dev.Artifact, tiny_student: Path) -> None:
    """Checkpoints would be chosen by another model than the one that is served."""
    loud = {"query": f"{sentences(1, seed=9)[0]} "}
    student = Student.load(tiny_student, Runtime("cpu", "fp32", 1), prompts=loud)
    texts = {
        name: dict(pl.read_parquet(corpus.file(f"{name}.parquet")).select("text", "hash").iter_rows())
        for name in ("queries", "passages")
    }
    judged = read_judged(corpus).splits["dev"]

    def measured(encode: Callable[[list[str]], Encoded]) -> float:
        asked = [text for text, name in texts["queries"].items() if name in set(judged["query_hash"])]
        shown = list(texts["passages"])
        scores, rows = top_k(encode(asked).vectors, student.encode_passages(shown).vectors, 40)
        hashes = (
            np.asarray([texts[kind][text] for text in of]) for kind, of in (("queries", asked), ("passages", shown))
        )
        return mean_values(measure_queries(judged, as_ranking(*hashes, scores, rows)))["nDCG@10"]

    found = dev.dev_measure(corpus, "nDCG@10", None)(student)
    assert found == pytest.approx(measured(student.encode_queries))
    assert found != pytest.approx(measured(student.encode_passages)), "prompts that move nothing test nothing"


def test_a_student_is_measured_on_the_sample(
    corpus: dev.Artifact, tiny_student: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    student = Student.load(tiny_student, Runtime("cpu", "fp32", 1))
    whole = dev.dev_measure(corpus, "nDCG@10", None)(student)
    monkeypatch.setattr(dev, "MOST_PASSAGES", 4)
    part = dev.dev_measure(corpus, "nDCG@10", None)(student)
    assert 0 <= whole <= part <= 1 and part > 0.4  # four passages: each judged one is among the first four
