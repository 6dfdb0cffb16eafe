"""The policies that make positives, or read their threshold off them."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from tasks.denoise.denoising import _check_positives, _check_scale, facts, with_judgement
from tasks.denoise.policies import judge, rules
from tasks.denoise.settings import READ, THRESHOLDS, Denoising
from tasks.refs import Member, TeacherRef


def teacher(**changes: Any) -> TeacherRef:
    return TeacherRef(fingerprint="t", path=Path("nowhere"), name="tiny", **changes)


def logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


def judged(
    settings: Denoising,
    queries: dict[int, tuple[list[float], list[float | None]]],
    said: Mapping[tuple[int, int], tuple[int, str]] = {},
    **changes: Any,
) -> Any:
    """Judge candidates of queries: the logits of its positives, then those of its candidates in rank order.

    `said` holds grades of candidates and who gave them, by query and place.
    """
    rows = []
    for query, (positives, candidates) in queries.items():
        rows += [(query, 100 + n, True, None, 1, "labelled", value) for n, value in enumerate(positives)]
        rows += [
            (query, n, False, n + 1, *said.get((query, n), (None, None)), value) for n, value in enumerate(candidates)
        ]
    schema = {
        "query_hash": pl.Int64, "passage_hash": pl.Int64, "labelled": pl.Boolean, "rank": pl.Int32,
        "grade": pl.Int32, "by": pl.String, "logit": pl.Float32,
    }  # fmt: skip
    pairs = pl.DataFrame(rows, schema=schema, orient="row").with_columns(similarity=pl.lit(0.5, pl.Float32))
    return judge(with_judgement(pairs, teacher(**changes)), rules(settings)).filter(~pl.col("labelled"))


def test_promote_gives_an_unlabelled_query_its_best_candidate_as_positive() -> None:
    """RocketQA's augmentation: P > 0.9 strictly, the single best; the others are judged as `drop` judges them."""
    found = judged(Denoising(policy="promote"), {1: ([], [logit(0.92), logit(0.97), logit(0.05), logit(0.4)])})
    assert found["verdict"].to_list() == ["approved", "promoted", "negative", "ambiguous"]
    assert found["weight"].to_list() == [0.0, 1.0, 1.0, 0.0]
    assert found["reason"][1] == (
        "probability 0.97 is above 0.9, the best of ranks 1 to 50; nobody labelled this query"
    )


def test_promote_uses_a_query_for_nothing_where_no_candidate_is_sure() -> None:
    """A list without a positive would teach that everything is wrong."""
    found = judged(Denoising(policy="promote"), {1: ([], [logit(0.89), -5.0]), 2: ([], [logit(0.95), -5.0])})
    assert found["verdict"].to_list() == ["approved", "negative", "promoted", "negative"]
    assert found["weight"].to_list() == [0.0, 0.0, 1.0, 1.0]
    assert found["reason"][1] == (
        "probability 0.007 is below 0.1; used for nothing: this query has no positive to learn from"
    )


def test_promote_wants_a_probability_strictly_above_the_threshold() -> None:
    at = judged(Denoising(policy="promote", promote_above=0.5, approve=0.5), {1: ([], [0.0, -4.0])})
    assert at["verdict"].to_list() == ["approved", "negative"]
    above = judged(Denoising(policy="promote", promote_above=0.5, approve=0.5), {1: ([], [1e-3, -4.0])})
    assert above["verdict"].to_list() == ["promoted", "negative"]


def test_promote_looks_no_deeper_than_asked_and_takes_the_higher_rank_of_two_alike() -> None:
    found = judged(Denoising(policy="promote", promote_depth=2), {1: ([], [3.0, 3.0, 9.0])})
    assert found["verdict"].to_list() == ["promoted", "approved", "approved"]


def test_promote_passes_over_what_people_found_not_relevant() -> None:
    """The teacher's favourite was turned down in review: the next best is the positive, or the query isn't used."""
    refused = (0, "reviewed")
    sure = judged(Denoising(policy="promote"), {1: ([], [5.0, 4.0, -5.0])}, said={(1, 0): refused})
    assert sure["verdict"].to_list() == ["negative", "promoted", "negative"]
    assert sure["weight"].to_list() == [1.0, 1.0, 1.0]
    unsure = judged(Denoising(policy="promote"), {1: ([], [5.0, 1.0, -5.0])}, said={(1, 0): refused})
    assert unsure["verdict"].to_list() == ["negative", "approved", "negative"]
    assert unsure["weight"].to_list() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("policy", READ)
def test_a_list_without_a_positive_is_used_for_nothing_whatever_the_policy(policy: Any) -> None:
    """`promote_all` left the negatives of an unlabelled query at weight 1, where nothing learns from them."""
    found = judged(Denoising(policy=policy), {1: ([], [-1.0, -5.0]), 2: ([2.0], [-1.0, -5.0])})
    assert found["weight"].to_list()[:2] == [0.0, 0.0] and found["weight"][3] == 1.0
    unused = found["reason"].str.ends_with("used for nothing: this query has no positive to learn from")
    assert unused.to_list() == [True, True, False, False]


def test_promote_leaves_labelled_queries_to_drop() -> None:
    queries: dict[int, Any] = {1: ([2.0], [logit(0.97), logit(0.05), None])}
    one, other = (judged(Denoising(policy=policy), queries) for policy in ("promote", "drop"))  # type: ignore[arg-type]
    assert one.equals(other)


def test_promote_all_makes_positives_of_what_the_teacher_approves() -> None:
    """SimLM: several positives; what is below the threshold is a negative."""
    found = judged(Denoising(policy="promote_all", approve=0.7), {1: ([2.0], [logit(0.71), logit(0.69), None])})
    assert found["verdict"].to_list() == ["promoted", "negative", "unscored"]
    assert found["weight"].to_list() == [1.0, 1.0, 0.0]
    assert found["reason"][0] == "probability 0.71 reaches 0.7"


def test_calibrated_reads_its_threshold_off_the_known_positives() -> None:
    """Positives 0, 1, 2, 3, 4: the quantile 0.25 is 1.0; the candidate at the threshold itself is approved."""
    queries: dict[int, Any] = {1: ([0.0, 1.0, 2.0], [1.0, 0.99]), 2: ([3.0, 4.0], [-8.0, 8.0, None])}
    found = judged(Denoising(policy="calibrated", quantile=0.25), queries)
    assert found["verdict"].to_list() == ["approved", "negative", "negative", "approved", "unscored"]
    assert found["weight"].to_list() == [0.0, 1.0, 1.0, 0.0, 0.0]
    assert found["reason"][0] == "judgement 1.0 reaches 1.0, as 75% of the positives do"


@pytest.mark.parametrize(("factor", "offset"), [(3.0, 0.0), (0.1, -7.0)])
def test_a_calibrated_threshold_moves_with_the_teacher(factor: float, offset: float) -> None:
    """The question every user asks: which threshold for my data? A fixed one fits one teacher."""
    drawing = np.random.default_rng(0)
    logits = {query: (drawing.normal(2, 1, 5), drawing.normal(0, 2, 20)) for query in range(20)}
    settings = Denoising(policy="calibrated")
    plain = judged(settings, {q: (p.tolist(), c.tolist()) for q, (p, c) in logits.items()})
    moved = judged(
        settings, {q: ((factor * p + offset).tolist(), (factor * c + offset).tolist()) for q, (p, c) in logits.items()}
    )
    assert plain["verdict"].equals(moved["verdict"])
    assert 0 < (plain["verdict"] == "approved").sum() < 200


def test_a_quantile_of_too_few_positives_is_refused() -> None:
    pairs = pl.DataFrame({"labelled": [True] * 10 + [False], "logit": [1.0] * 9 + [None, 3.0]})
    with pytest.raises(ValueError, match=r"quantile 0\.1 off the scores of known positives, and 9 of them are scored"):
        _check_positives(pairs, Denoising(policy="calibrated"))
    _check_positives(pairs, Denoising(policy="calibrated", quantile=0.2))
    _check_positives(pairs, Denoising(policy="drop"))


def test_a_margin_in_logits_is_refused_for_an_ensemble() -> None:
    """Pitfall 7: its logits have deviation 1, so a margin of 3 rejects every candidate."""
    members = (Member(teacher=teacher(), mean=0.0, deviation=1.0),)
    with pytest.raises(ValueError, match="hardly a candidate would be a negative"):
        _check_scale(teacher(members=members, listwise=True, calibrated=True), Denoising(policy="margin"))
    _check_scale(teacher(members=members, listwise=True, calibrated=True), Denoising(policy="drop"))


@pytest.mark.parametrize("policy", ["promote_all", "soften", "margin", "drop"])
def test_a_threshold_that_the_policy_does_not_read_is_in_nobodys_way(policy: Any) -> None:
    """It can't be set beside such a policy, so its default would shut approval in between 0.1 and 0.9."""
    assert Denoising(policy=policy, approve=0.95).approve == 0.95
    if policy != "drop":
        assert Denoising(policy=policy, approve=0.05).approve == 0.05


def test_a_threshold_that_the_policy_does_not_read_is_refused() -> None:
    """A margin beside policy `drop` would be believed to be at work."""
    with pytest.raises(ValidationError, match=r"policy 'drop' does not read margin \(set to 1\.0\); margin would"):
        Denoising(policy="drop", margin=1.0)
    with pytest.raises(ValidationError, match=r"policy 'keep' does not read approve \(set to 0\.7\); drop, promote"):
        Denoising(policy="keep", approve=0.7)
    for policy, read in READ.items():
        assert set(read) <= set(THRESHOLDS)
        plain = Denoising(policy=policy)  # type: ignore[arg-type]
        assert Denoising.model_validate(plain.model_dump()) == plain, "as a flow's parameters come back from a server"


@pytest.mark.parametrize("name", ["approve", "drop_below", "promote_above"])
def test_a_logit_is_refused_as_a_probability(name: str) -> None:
    with pytest.raises(ValidationError, match=r"3\.0 is no probability between 0 and 1; a threshold in logits is"):
        Denoising(policy="promote", **{name: 3.0})  # type: ignore[arg-type]


def test_a_promoted_passage_is_no_part_of_the_list_of_negatives() -> None:
    found = judged(Denoising(policy="promote_all"), {1: ([2.0], [3.0, 1.0, -1.0])})
    told = facts(found.with_columns(verdict=pl.col("verdict")))
    assert told["verdicts"]["promoted"] == told["false_negatives"] == 2
    assert told["median_list"] == 1.0
