"""A collapsed, an anisotropic and a healthy model get the right warnings; figures are worked out by hand."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny_corpus import make_corpus
from vectors import write_vectors

from tasks.artifacts import Artifact, make_artifact
from tasks.diagnose import findings
from tasks.diagnose.diagnosing import diagnose_student
from tasks.diagnose.geometry import Geometry, effective_rank, geometry, variances
from tasks.diagnose.margins import margins_of
from tasks.diagnose.seen import Seen
from tasks.diagnose.settings import Diagnosis
from tasks.refs import StudentRef
from tasks.report.charts import margin_charts
from tasks.where import Where
from warehouse.texts import text_hash

COUNT, SIZE = 400, 64
PAIRS = np.stack([np.arange(COUNT), np.arange(COUNT)], axis=1)


def noise(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(COUNT, SIZE))


def measured(passages: np.ndarray, closeness: float = 0.3) -> Geometry:
    return geometry(passages, passages + closeness * np.linalg.norm(passages, axis=1).mean() / 8 * noise(1), PAIRS)


def bad(found: Geometry) -> set[str]:
    return {each.name for each in findings.of_geometry(found) if each.is_bad}


def test_a_healthy_model_gets_no_warning() -> None:
    """A warning that is always there is not read."""
    assert bad(measured(noise())) == set()


def test_a_collapsed_model_is_called_one() -> None:
    """The loss of a model whose passages lie on a line may fall all the same."""
    flat = noise()[:, :1] * np.eye(1, SIZE) + 0.001 * noise(2)
    assert {"effective rank", "components holding 95 % of variance"} <= bad(measured(flat, 0.01))
    assert "random-pair cosine" not in bad(measured(flat, 0.01)), "half of them point the other way"


def test_an_anisotropic_model_is_called_one() -> None:
    narrow = noise() + 16 * np.eye(1, SIZE)
    found = bad(measured(narrow))
    assert {"random-pair cosine", "uniformity"} <= found
    assert "effective rank" not in found, "inside of its cone it uses every dimension"


def test_a_model_that_has_learned_nothing_is_not_aligned() -> None:
    strangers = geometry(noise(), noise(5), PAIRS)
    assert strangers.alignment == pytest.approx(strangers.unaligned, rel=0.05)
    assert "alignment" in {each.name for each in findings.of_geometry(strangers) if each.is_bad}


def test_a_model_of_one_vector_has_one_dimension() -> None:
    same = np.ones((COUNT, SIZE))
    found = geometry(same, same, PAIRS)
    assert (found.components, found.effective_rank, found.uniformity) == pytest.approx((1, 1.0, 0.0))
    assert {"effective rank", "uniformity", "random-pair cosine"} <= bad(found)


def test_worked_values_of_two_opposite_passages() -> None:
    passages = np.array([[1.0, 0.0], [-3.0, 0.0]])
    queries = np.array([[0.0, 1.0], [1.0, 0.0]])
    found = geometry(passages, queries, np.array([[0, 0], [1, 0]]))
    assert found.alignment == pytest.approx((2 + 0) / 2)
    assert found.cosine == pytest.approx(-1.0)
    assert found.uniformity == pytest.approx(-8.0)
    assert (found.low, found.high) == pytest.approx((-1.0, -1.0))


def test_an_even_spread_is_near_the_value_that_the_note_names() -> None:
    """For many dimensions, random unit vectors have d² of 2: log exp(-4)."""
    assert measured(noise()).uniformity == pytest.approx(-4.0, abs=0.3)


def test_variance_is_shared_as_it_is() -> None:
    vectors = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    assert variances(vectors) == pytest.approx([0.5, 0.5, 0.0])
    assert effective_rank(np.array([0.25] * 4)) == pytest.approx(4.0)
    assert effective_rank(np.array([0.5, 0.25, 0.25])) == pytest.approx(math.exp(1.5 * math.log(2)))


def test_nothing_to_look_at_is_refused() -> None:
    with pytest.raises(ValueError, match="1 passages and 1 labelled pairs"):
        geometry(np.ones((1, 2)), np.ones((1, 2)), np.array([[0, 0]]))


def test_rank_agreement_is_spearmans() -> None:
    rows = [(1, 0.9, 5.0), (1, 0.8, 4.0), (1, 0.1, -3.0), (2, 0.3, 1.0), (2, 0.2, 2.0), (2, 0.1, 3.0), (3, 0.5, 1.0)]
    pairs = pl.DataFrame(rows, schema=["query_hash", "similarity", "logit"], orient="row")
    assert findings.of_agreement(pairs).value == pytest.approx((1 - 1) / 2), "a query with one candidate has no order"
    assert findings.of_agreement(pairs).is_bad
    assert findings.of_agreement(pairs.filter(pl.col("query_hash") == 1)).value == pytest.approx(1.0)


def verdicts(rows: list[tuple[int, int, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["query_hash", "passage_hash", "verdict"], orient="row")


def test_overlap_counts_pairs_not_passages() -> None:
    old = verdicts([(1, 5, "negative"), (2, 6, "negative"), (1, 7, "approved")])
    new = verdicts([(1, 5, "negative"), (1, 6, "negative"), (1, 7, "negative"), (2, 6, "positive")])
    assert findings.of_overlap(new, old).value == pytest.approx(1 / 3)
    assert findings.of_overlap(old, old).is_bad


def test_shares_of_verdicts_leave_positives_out() -> None:
    rows = [(1, 1, "positive"), (1, 2, "approved"), (1, 3, "approved"), (1, 4, "approved"), (1, 5, "negative")]
    found = {each.name: each for each in findings.of_verdicts(verdicts(rows))}
    assert found["candidates: approved"].value == pytest.approx(0.75)
    assert found["candidates: approved"].is_bad
    assert found["candidates: negative"].value == pytest.approx(0.25)
    assert not found["candidates: negative"].is_bad


def test_promoted_candidates_are_told_of() -> None:
    """Shares that leave a verdict out don't sum to one, and the reader looks for what is missing."""
    rows = [(1, 1, "positive"), (1, 2, "promoted"), (1, 3, "promoted"), (1, 4, "negative")]
    found = {each.name: each for each in findings.of_verdicts(verdicts(rows))}
    assert found["candidates: promoted"].value == pytest.approx(2 / 3)
    assert found["candidates: promoted"].is_bad


def test_short_lists_and_truncation_are_shares() -> None:
    found = findings.of_facts(
        {"short_lists": 3, "queries": 10}, {"truncated_share": 0.05}, {"truncated_share": 0.5, "truncated": 1}
    )
    assert [each.value for each in found] == pytest.approx([0.3, 0.5, 0.05])
    assert [each.is_bad for each in found] == [True, True, False]


def test_a_round_is_diagnosed_from_what_it_left(tmp_path: Path) -> None:
    passages = ["red cat", "blue dog", "green tree"]
    queries = {"a cat": "train", "a dog": "dev"}
    corpus = make_corpus(tmp_path, passages, queries, [("a cat", "red cat", 1), ("a dog", "blue dog", 1)])
    place = {"red cat": [1.0, 0.0], "blue dog": [0.0, 1.0], "green tree": [-1.0, 0.0]}
    vectors = write_vectors(tmp_path, corpus, {**place, "a cat": [1.0, 0.0], "a dog": [0.0, 1.0]})
    keys = {"query_hash": [text_hash("a cat")] * 2, "passage_hash": [text_hash("blue dog"), text_hash("green tree")]}

    def left(step: str, file: str, frame: pl.DataFrame, **facts: object) -> Artifact:
        def build(folder: Path) -> dict[str, object]:
            frame.write_parquet(folder / file)
            return facts

        return make_artifact(tmp_path, step, 1, {}, {}, build)

    mined = left("mine", "candidates.parquet", pl.DataFrame(keys), short_lists=1, queries=1)
    scored = left("score", "scores.parquet", pl.DataFrame({**keys, "logit": [2.0, -1.0]}), truncated_share=0.0)
    judged = left("denoise", "verdicts.parquet", pl.DataFrame({**keys, "verdict": ["negative", "approved"]}))
    seen = Seen(system="round-1", vectors=vectors, mined=mined, scored=scored, judged=judged, before=judged)
    artifact = diagnose_student(Where(home=tmp_path), corpus, seen)
    rows = pl.read_parquet(artifact.file("diagnostics.parquet"))
    values = dict(zip(rows["name"], rows["value"], strict=True))
    assert values["alignment"] == pytest.approx(0.0), "dev: the dog's query lies on its passage"
    assert values["rank agreement with the teacher"] == pytest.approx(1.0)
    assert values["negatives that the round before had"] == 1.0
    assert values["candidates: approved"] == pytest.approx(0.5)
    assert all(rows["note"].str.len_chars() > 20)
    short = "round-1, lists shorter than asked: 1 (a share of queries). Above 0.2 the corpus or the depth is too small"
    assert any(warning.startswith(short) for warning in artifact.facts["warnings"])


def test_margins_are_counted_from_the_best_positive() -> None:
    rows = [
        (1, "positive", 0.9),
        (1, "positive", 0.2),
        (1, "negative", 0.4),
        (1, "negative", 1.0),
        (2, "negative", 0.3),
    ]
    pairs = pl.DataFrame(rows, schema=["query_hash", "verdict", "similarity"], orient="row")
    found = margins_of(pairs)
    values = {each.name: each for each in found.findings}
    assert values["margin"].value == pytest.approx((0.5 - 0.1) / 2), "query 2 has no positive to be held against"
    assert values["negatives above their positive"].value == 0.5 and values["negatives above their positive"].is_bad
    assert len(found.histogram["shares"]) == 20 == len(found.histogram["edges"]) - 1
    assert sum(found.histogram["shares"]) == pytest.approx(1.0)
    assert (found.histogram["edges"][0], found.histogram["edges"][-1]) == pytest.approx((-0.1, 0.5))
    ((caption, drawing, _),) = margin_charts([{"system": "base"}, {"system": "round-1", "margins": found.histogram}])
    assert caption.startswith("round-1") and "about 50% of the negatives are above" in drawing
    assert margins_of(pairs.clear()).histogram == {}


def test_probes_are_measured_as_a_query_and_a_passage(tmp_path: Path, tiny_student: Path) -> None:
    """The similarity that a search would use, prompts included; of the texts that a person has in mind."""
    from sentence_transformers import SentenceTransformer

    corpus = make_corpus(tmp_path, ["red cat", "blue dog"], {"a cat": "dev"}, [("a cat", "red cat", 1)])
    vectors = write_vectors(tmp_path, corpus, {"red cat": [1.0, 0.0], "blue dog": [0.0, 1.0], "a cat": [1.0, 0.0]})
    file = tmp_path / "probes.toml"
    file.write_text('probes = [["read a file", "sort a list"]]')
    probes = Diagnosis(probes=[["red house", "blue tree"]], probes_file=str(file)).pairs
    student = StudentRef(system="base", fingerprint="f", path=tiny_student)
    seen = Seen(system="base", vectors=vectors, student=student, probes=probes)
    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1)
    found = pl.read_parquet(diagnose_student(where, corpus, seen).file("diagnostics.parquet"))
    told = found.filter(pl.col("name").str.starts_with("probe: "))
    assert told["name"].to_list() == ["probe: red house | blue tree", "probe: read a file | sort a list"]
    model = SentenceTransformer(str(tiny_student), device="cpu")
    pairs = zip(*probes, strict=True)
    queries, passages = (model.encode_query(list(next(pairs))), model.encode_document(list(next(pairs))))
    assert told["value"].to_list() == pytest.approx((queries * passages).sum(axis=1).tolist(), abs=1e-5)
    assert seen.named != Seen(system="base", vectors=vectors).named, "other probes are another diagnosis"


@pytest.mark.parametrize("content", ['probes = [["one"]]', "pairs = []", 'probes = [["", "b"]]', "not toml"])
def test_a_file_of_probes_that_holds_none_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "p.toml").write_text(content)
    with pytest.raises(ValueError, match=r"p\.toml: needed TOML with probes"):
        _ = Diagnosis(probes_file=str(tmp_path / "p.toml")).pairs
    with pytest.raises(FileNotFoundError, match="probes_file"):
        _ = Diagnosis(probes_file=str(tmp_path / "none.toml")).pairs
