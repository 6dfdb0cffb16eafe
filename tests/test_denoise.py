"""Every candidate gets the verdict that its policy's rule says, with a reason in numbers, and only train queries do."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError
from tiny_corpus import make_corpus

from tasks.artifacts import Artifact, make_artifact
from tasks.denoise.blend import similarities
from tasks.denoise.denoising import judge_candidates, with_judgement
from tasks.denoise.evidence import Evidence
from tasks.denoise.policies import judge, rules
from tasks.denoise.settings import Denoising
from tasks.refs import Blend, TeacherRef
from warehouse.texts import text_hash


def teacher(**changes: object) -> TeacherRef:
    return TeacherRef(fingerprint="t", path=Path("nowhere"), name="tiny", **changes)  # type: ignore[arg-type]


def logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


def verdicts(
    settings: Denoising, logits: list[float | None], positive: float = 2.0, **teaching: object
) -> pl.DataFrame:
    """Judge candidates of one query that has one labelled positive, in the order given."""
    pairs = pl.DataFrame(
        {
            "query_hash": [1] * (len(logits) + 1),
            "passage_hash": list(range(len(logits) + 1)),
            "labelled": [True] + [False] * len(logits),
            "rank": [None, *range(1, len(logits) + 1)],
            "grade": [1] + [None] * len(logits),
            "by": ["labelled"] + [None] * len(logits),
            "similarity": [0.9] + [0.5] * len(logits),
            "logit": [positive, *logits],
        },
        schema_overrides={"by": pl.String, "logit": pl.Float32, "grade": pl.Int32, "similarity": pl.Float32},
    )
    return judge(with_judgement(pairs, teacher(**teaching)), rules(settings))[1:]


def test_keep_calls_every_candidate_a_negative_whatever_the_teacher_says() -> None:
    judged = verdicts(Denoising(policy="keep"), [9.0, 0.0, -9.0])
    assert judged["verdict"].to_list() == ["negative"] * 3
    assert judged["weight"].to_list() == [1.0] * 3


def test_drop_wants_a_probability_strictly_below_the_threshold() -> None:
    """RocketQA: a negative needs P < 0.1 strictly; what lies between is used for nothing."""
    low = np.float32(logit(0.1))
    judged = verdicts(Denoising(policy="drop"), [low, logit(0.0999), logit(0.101), logit(0.499), logit(0.501)])
    at = judged["probability"][0]
    assert judged["verdict"].to_list() == [
        "negative" if at < 0.1 else "ambiguous", "negative", "ambiguous", "ambiguous", "approved",
    ]  # fmt: skip
    assert judged["weight"].to_list()[1:] == [1.0, 0.0, 0.0, 0.0]
    exact = verdicts(Denoising(policy="drop", drop_below=0.5, approve=0.6), [0.0, -1e-3])
    assert exact["verdict"].to_list() == ["ambiguous", "negative"]


def test_approval_begins_at_the_threshold_itself() -> None:
    assert verdicts(Denoising(policy="soften"), [0.0, -1e-3])["verdict"].to_list() == ["approved", "negative"]


def test_soften_keeps_all_in_the_list() -> None:
    """ColBERTv2: nothing is dropped; what the teacher approves is never a contrastive negative."""
    judged = verdicts(Denoising(policy="soften", approve=0.7), [logit(0.71), logit(0.69), -8.0])
    assert judged["verdict"].to_list() == ["approved", "negative", "negative"]
    assert judged["weight"].to_list() == [1.0, 1.0, 1.0]


def test_margin_counts_logits_below_the_lowest_positive() -> None:
    """Pitfall 7: a margin of 3 on probabilities would reject everything."""
    judged = verdicts(Denoising(policy="margin"), [-1.0, -0.99, 0.5], positive=2.0)
    assert judged["verdict"].to_list() == ["negative", "ambiguous", "approved"]
    assert judged["weight"].to_list() == [1.0, 0.0, 0.0]
    assert judged["reason"][0] == "judgement -1.0 is at least 3.0 below the lowest positive's 2.0"
    assert judged["reason"][2].startswith("probability 0.622 reaches 0.5, and judgement 0.5 is less than 3.0 below")


def test_the_anchor_of_a_margin_is_the_lowest_positive_even_below_zero() -> None:
    """Pitfall 10: relative margins invert for negative scores; this one is a difference."""
    pairs = pl.DataFrame(
        {
            "query_hash": [1, 1, 1, 2, 2],
            "passage_hash": [1, 2, 3, 1, 2],
            "labelled": [True, True, False, True, False],
            "grade": [1, 1, None, 1, None],
            "by": ["labelled", "labelled", None, "labelled", None],
            "similarity": [0.5] * 5,
            "logit": [4.0, -2.0, -4.9, 9.0, -4.9],
        }
    )
    judged = judge(with_judgement(pairs, teacher()), rules(Denoising(policy="margin")))
    assert judged["verdict"].to_list() == ["positive", "positive", "ambiguous", "positive", "negative"]


def test_probability_is_the_calibrated_one() -> None:
    """Pitfall 7: a threshold on raw logits, or on an uncalibrated sigmoid."""
    judged = verdicts(Denoising(policy="drop"), [1.0], a=2.0, b=-6.0, calibrated=True)
    assert judged["probability"][0] == pytest.approx(1 / (1 + math.exp(4.0)))
    assert judged["verdict"].to_list() == ["negative"]
    assert judged["judgement"][0] == 1.0
    assert judged["reason"][0] == "probability 0.018 is below 0.1"


def test_a_candidate_without_a_score_is_unscored_and_in_no_list() -> None:
    """Pitfall 8: a missing score filled with a default."""
    for policy in ("keep", "drop", "margin", "soften"):
        judged = verdicts(Denoising(policy=policy), [None, -9.0])  # type: ignore[arg-type]
        assert judged["verdict"].to_list() == ["unscored", "negative"]
        assert judged["weight"].to_list() == [0.0, 1.0]
        assert judged["probability"][0] is None and judged["judgement"][0] is None


def test_a_judged_irrelevant_passage_is_a_negative_although_the_teacher_likes_it() -> None:
    pairs = pl.DataFrame(
        {
            "query_hash": [1, 1],
            "passage_hash": [1, 2],
            "labelled": [True, False],
            "grade": [1, 0],
            "by": ["labelled", "labelled"],
            "similarity": [0.5, 0.5],
            "logit": [2.0, 8.0],
        }
    )
    judged = judge(with_judgement(pairs, teacher()), rules(Denoising(policy="drop")))
    assert judged["verdict"].to_list() == ["positive", "negative"]
    assert judged["reason"][1] == "labelled not relevant (grade 0)"


def test_thresholds_on_the_wrong_scale_or_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"drop_below 0\.6 is above approve 0\.5"):
        Denoising(policy="drop", drop_below=0.6)
    with pytest.raises(ValidationError, match=r"promote_above 0\.9 is below approve 0\.95"):
        Denoising(policy="promote", approve=0.95)
    with pytest.raises(ValidationError):
        Denoising(approve=3.0)
    with pytest.raises(ValidationError):
        Denoising(margin=-1.0)


PASSAGES = [f"passage {number}" for number in range(8)]
QUERIES = {"train one": "train", "train two": "train", "test one": "test"}
LABELS = [("train one", PASSAGES[0], 1), ("train two", PASSAGES[1], 2), ("test one", PASSAGES[2], 1)]
CANDIDATES = [(query, passage) for query in ("train one", "train two") for passage in PASSAGES[3:7]]


def evidence(root: Path, candidates: list[tuple[str, str]], logits: dict[tuple[str, str], float]) -> Evidence:
    """Artifacts of one round, made by hand."""
    corpus = make_corpus(root, PASSAGES, QUERIES, LABELS)
    hashes = [(text_hash(query), text_hash(passage)) for query, passage in candidates]
    keys = {"query_hash": pl.Int64, "passage_hash": pl.Int64}
    pairs = pl.DataFrame(hashes, schema=keys, orient="row")
    positives = pl.DataFrame([(text_hash(q), text_hash(p)) for q, p, _ in LABELS[:2]], schema=keys, orient="row")
    scores = pl.DataFrame(
        [(text_hash(query), text_hash(passage), value) for (query, passage), value in logits.items()],
        schema={**keys, "logit": pl.Float32},
        orient="row",
    )

    def vectors(folder: Path) -> dict[str, object]:
        drawing = np.random.default_rng(0)
        np.save(folder / "passages.npy", drawing.normal(size=(len(PASSAGES), 4)).astype(np.float32))
        np.save(folder / "queries.npy", drawing.normal(size=(len(QUERIES), 4)).astype(np.float32))
        return {}

    def mined(folder: Path) -> dict[str, object]:
        ranks = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query_hash")
        scored = pairs.with_columns(rank=ranks, student_score=pl.lit(0.5, pl.Float32), miner=pl.lit("dense"))
        scored.write_parquet(folder / "candidates.parquet")
        pl.concat([pairs, positives]).unique().write_parquet(folder / "pairs.parquet")
        return {}

    def scored(folder: Path) -> dict[str, object]:
        scores.write_parquet(folder / "scores.parquet")
        return {}

    def made(step: str, build: object) -> Artifact:
        return make_artifact(root, step, 1, {}, {"hand": f"{step}{candidates}{logits}"}, build)  # type: ignore[arg-type]

    return Evidence(
        corpus=corpus, vectors=made("encode", vectors), mined=made("mine", mined), scored=made("score", scored)
    )


def some_logits() -> dict[tuple[str, str], float]:
    pairs = [*CANDIDATES, ("train one", PASSAGES[0]), ("train two", PASSAGES[1])]
    return {pair: (number - 3) * 1.5 for number, pair in enumerate(pairs)}


def test_the_file_has_one_row_per_candidate_and_labelled_positive(tmp_path: Path) -> None:
    artifact = judge_candidates(
        tmp_path, evidence(tmp_path, CANDIDATES, some_logits()), teacher(), Denoising(policy="drop")
    )
    found = pl.read_parquet(artifact.file("verdicts.parquet"))
    expected = {(text_hash(query), text_hash(passage)) for query, passage in some_logits()}
    assert set(found.select("query_hash", "passage_hash").rows()) == expected and found.height == len(expected)
    assert dict(found.schema) == {
        "query_hash": pl.Int64, "passage_hash": pl.Int64, "verdict": pl.String, "reason": pl.String,
        "weight": pl.Float32, "probability": pl.Float32, "judgement": pl.Float32,
    }  # fmt: skip
    assert found["reason"].null_count() == 0
    counts = artifact.facts["verdicts"]
    # logits of the candidates: -4.5 -3 -1.5 0 | 1.5 3 4.5 6; P < 0.1 is below -2.2, P >= 0.5 from 0 on
    assert counts == {"positive": 2, "promoted": 0, "negative": 2, "approved": 5, "ambiguous": 1, "unscored": 0}
    assert artifact.facts["false_negatives"] == 5
    assert artifact.facts["queries_without_negatives"] == 1


def test_a_list_with_a_test_query_is_refused(tmp_path: Path) -> None:
    bad = [*CANDIDATES, ("test one", PASSAGES[4])]
    with pytest.raises(ValueError, match="1 lists belong to queries that are not train queries, first 'test one'"):
        judge_candidates(tmp_path, evidence(tmp_path, bad, some_logits()), teacher(), Denoising())


def test_a_listwise_teacher_needs_calibration_where_a_probability_decides(tmp_path: Path) -> None:
    """Pitfall 7: its logits have no absolute scale, so any threshold on them is an accident."""
    known = evidence(tmp_path, CANDIDATES, some_logits())
    for policy in ("drop", "soften", "promote", "promote_all", "calibrated"):
        with pytest.raises(ValueError, match="trained on lists or an ensemble, is not calibrated"):
            judge_candidates(tmp_path, known, teacher(listwise=True), Denoising(policy=policy))  # type: ignore[arg-type]
    for policy in ("keep", "margin"):
        artifact = judge_candidates(tmp_path, known, teacher(listwise=True), Denoising(policy=policy))  # type: ignore[arg-type]
        assert pl.read_parquet(artifact.file("verdicts.parquet"))["probability"].null_count() == 10
    judge_candidates(tmp_path, known, teacher(listwise=True, calibrated=True), Denoising(policy="drop"))


def test_a_blend_without_calibration_is_refused(tmp_path: Path) -> None:
    known = evidence(tmp_path, CANDIDATES, some_logits())
    with pytest.raises(ValueError, match=r"blended at weight 0\.3 and not calibrated"):
        judge_candidates(tmp_path, known, teacher(blend=Blend(weight=0.3)), Denoising())


def test_calibration_and_blend_are_part_of_the_name(tmp_path: Path) -> None:
    """Pitfall 2: the verdicts of another calibration served because the file exists."""
    known = evidence(tmp_path, CANDIDATES, some_logits())
    mixed = [teacher(calibrated=True, blend=Blend(weight=weight)) for weight in (0.5, 0.25)]
    teachers = [teacher(), teacher(a=2.0, calibrated=True), teacher(b=1.0, calibrated=True), *mixed]
    made = [judge_candidates(tmp_path, known, each, Denoising()) for each in teachers]
    assert len({artifact.fingerprint for artifact in made}) == len(teachers)
    assert judge_candidates(tmp_path, known, teachers[0], Denoising()) == made[0]


def test_similarities_are_inner_products_of_the_rows_that_the_hashes_name(tmp_path: Path) -> None:
    known = evidence(tmp_path, CANDIDATES, some_logits())
    pairs = pl.read_parquet(known.mined.file("pairs.parquet"))
    found = similarities(known.vectors, known.corpus, pairs)
    rows = {
        name: {code: row for row, code in enumerate(pl.read_parquet(known.corpus.file(f"{name}.parquet"))["hash"])}
        for name in ("queries", "passages")
    }
    vectors = {name: np.load(known.vectors.file(f"{name}.npy")) for name in ("queries", "passages")}
    assert pairs.height == 10
    for (query, passage), value in zip(pairs.rows(), found, strict=True):
        expected = vectors["queries"][rows["queries"][query]] @ vectors["passages"][rows["passages"][passage]]
        assert value == pytest.approx(float(expected), rel=1e-5)
    with pytest.raises(ValueError, match="1 of 1 texts"):
        similarities(known.vectors, known.corpus, pl.DataFrame({"query_hash": [5], "passage_hash": [5]}))
