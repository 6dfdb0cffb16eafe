"""The better student on dev goes on, with how sure that is; the base can win."""

import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tasks.artifacts import make_artifact
from tasks.evaluate.paired import compare, compare_differences
from tasks.promote.deciding import Contender, Decision, decide
from tasks.promote.settings import Promotion
from tasks.refs import StudentRef


def metrics_of(values: list[float], split: str = "dev", measure: str = "nDCG@10") -> pl.DataFrame:
    return pl.DataFrame(
        {"system": "x", "split": split, "query_hash": range(len(values)), "measure": measure, "value": values}
    )


def contender(root: Path, system: str, dev: list[float], test: list[float] | None = None) -> Contender:
    frame = pl.concat(
        [metrics_of(dev), metrics_of([1 - value for value in dev], measure="AP"), metrics_of(test or dev, "test")]
    )

    def build(folder: Path) -> dict[str, str]:
        frame.write_parquet(folder / "query_metrics.parquet")
        return {"system": system}

    measured = make_artifact(root, "evaluate", 1, {"system": system, "values": dev}, {}, build)
    return Contender(StudentRef(system=system, fingerprint=f"{system}-{sum(dev)}", path=root / system), measured)


def decided(tmp_path: Path, old: list[float], new: list[float], **settings: object) -> Decision:
    pair = contender(tmp_path, "base", old), contender(tmp_path, "round-1", new)
    return decide(tmp_path, *pair, Promotion.model_validate(settings), "nDCG@10")


def test_the_better_one_on_dev_goes_on(tmp_path: Path) -> None:
    decision = decided(tmp_path, [0.1, 0.2, 0.3], [0.2, 0.3, 0.3])
    assert decision.promoted
    assert decision.winner.system == "round-1"
    assert decision.measured.facts == {"system": "round-1"}
    assert decision.difference == pytest.approx(0.2 / 3)
    assert "round-1 replaces base" in decision.sentence


def test_a_student_worse_than_the_base_is_not_promoted(tmp_path: Path) -> None:
    """Pitfall 30."""
    decision = decided(tmp_path, [0.5, 0.5, 0.5], [0.4, 0.5, 0.5])
    assert not decision.promoted
    assert decision.contender[0].system == "base"
    assert decision.contender[1].facts == {"system": "base"}
    assert "base stays" in decision.sentence


def test_equal_keeps_the_old_one(tmp_path: Path) -> None:
    assert decided(tmp_path, [0.5, 0.4], [0.4, 0.5]).winner.system == "base"


def test_proven_wants_more_than_a_higher_mean(tmp_path: Path) -> None:
    """A scheduled retraining that is promoted by luck changes every vector for nothing."""
    old, new = [0.1, 0.2, 0.3, 0.4], [0.3, 0.1, 0.4, 0.4]
    assert decided(tmp_path, old, new).promoted
    lucky = decided(tmp_path, old, new, rule="proven")
    assert not lucky.promoted and lucky.difference > 0
    assert "base stays, round-1 does not replace it, whose gain is not proven" in lucky.sentence
    clear = decided(tmp_path, [0.1] * 12, [0.3] * 12, rule="proven")
    assert clear.promoted and clear.p < 0.05
    assert not decided(tmp_path, [0.1] * 12, [0.3] * 12, rule="proven", level=1e-5).promoted
    assert not decided(tmp_path, [0.3] * 12, [0.1] * 12, rule="proven").promoted, "proven to be worse"


def test_test_queries_decide_nothing(tmp_path: Path) -> None:
    """A choice made on test would make the test figures optimistic."""
    old = contender(tmp_path, "base", [0.1, 0.1], test=[0.9, 0.9])
    new = contender(tmp_path, "round-1", [0.2, 0.2], test=[0.0, 0.0])
    assert decide(tmp_path, old, new, Promotion(), "nDCG@10").winner.system == "round-1"


def test_the_decision_is_written_with_p_and_interval(tmp_path: Path) -> None:
    """Pitfall 39: a difference is reported with its test."""
    decision = decided(tmp_path, [0.1, 0.2, 0.3, 0.4], [0.3, 0.3, 0.3, 0.5])
    facts = json.loads(decision.artifact.file("decision.json").read_text())
    assert facts["winner"] == "round-1"
    assert facts["sentence"] == decision.sentence
    assert facts["low"] <= facts["difference"] <= facts["high"]
    rows = pl.read_parquet(decision.artifact.file("diagnostics.parquet"))
    assert rows.columns == ["name", "value", "note"]
    values = dict(zip(rows["name"], rows["value"], strict=True))
    assert values["promotion nDCG@10 dev p"] == pytest.approx(decision.p)
    assert values["promotion nDCG@10 dev difference"] == pytest.approx(0.1)


def test_p_agrees_with_all_sign_flips_counted_one_by_one() -> None:
    differences = np.array([0.3, -0.1, 0.25, 0.4, 0.05, -0.02, 0.2, 0.1])
    means = [float(np.mean(differences * signs)) for signs in itertools.product([-1, 1], repeat=8)]
    exact = np.mean([abs(mean) >= abs(differences.mean()) - 1e-12 for mean in means])
    assert 0.01 < exact < 0.2
    assert compare_differences(differences).p == pytest.approx(exact, abs=0.01)
    assert compare_differences(-differences).p == pytest.approx(exact, abs=0.01)


def test_interval_agrees_with_the_normal_approximation() -> None:
    differences = np.random.default_rng(1).normal(0.05, 0.2, 400)
    found = compare_differences(differences)
    error = differences.std() / 20
    assert found.low == pytest.approx(differences.mean() - 1.96 * error, abs=0.1 * error)
    assert found.high == pytest.approx(differences.mean() + 1.96 * error, abs=0.1 * error)


def test_no_difference_has_p_1_and_a_clear_one_the_least_p() -> None:
    assert compare_differences(np.zeros(30)).p == 1.0
    assert compare_differences(np.full(40, 0.2)).p == pytest.approx(1 / 10_001)


def test_the_same_seed_gives_the_same_figures() -> None:
    differences = np.random.default_rng(0).normal(0.01, 0.1, 50)
    assert compare_differences(differences, 3) == compare_differences(differences, 3)
    assert compare_differences(differences, 3) != compare_differences(differences, 4)


def test_queries_are_paired_by_name_not_by_row() -> None:
    first = metrics_of([0.1, 0.5, 0.9])
    assert compare(first, first.sample(3, shuffle=True, seed=1), "dev", "nDCG@10").high == 0.0


def test_systems_measured_on_other_queries_are_not_compared() -> None:
    with pytest.raises(ValueError, match="the same ones"):
        compare(metrics_of([0.1, 0.2]), metrics_of([0.1, 0.2, 0.3]), "dev", "nDCG@10")
    with pytest.raises(ValueError, match="0 queries"):
        compare(metrics_of([0.1]), metrics_of([0.1]), "test", "nDCG@10")


def guarded(root: Path, system: str, dev: list[float], general: list[float]) -> Contender:
    """A contender that was measured on a guard set as well."""
    frame = metrics_of(general, "guard")

    def build(folder: Path) -> dict[str, str]:
        frame.write_parquet(folder / "query_metrics.parquet")
        return {"system": system}

    measured = make_artifact(root, "guard", 1, {"system": system, "values": general}, {}, build)
    return contender(root, system, dev)._replace(guarded=measured)


@pytest.mark.parametrize("rule", ["better", "proven"])
def test_a_student_that_forgets_too_much_is_not_promoted(tmp_path: Path, rule: str) -> None:
    """What it gained on one corpus it lost everywhere else."""
    settings = Promotion.model_validate({"rule": rule, "guard": "general", "guard_tolerance": 0.05})
    old = guarded(tmp_path, "base", [0.1] * 12, [0.5] * 12)
    lost = guarded(tmp_path, "round-1", [0.3] * 12, [0.5] * 11 + [0.0])
    kept = decide(tmp_path, old, lost, settings, "nDCG@10")
    assert kept.promoted and kept.contender.guarded == lost.guarded, "0.042 is within the tolerance"
    worse = decide(tmp_path, old, guarded(tmp_path, "round-2", [0.3] * 12, [0.44] * 12), settings, "nDCG@10")
    assert not worse.promoted and worse.contender.guarded == old.guarded
    assert "which loses too much on the guard set" in worse.sentence
    assert "on 12 queries of the guard set -0.0600 against base" in worse.sentence
    rows = pl.read_parquet(worse.artifact.file("diagnostics.parquet"))
    values = dict(zip(rows["name"], rows["value"], strict=True))
    assert values["promotion nDCG@10 guard difference"] == pytest.approx(-0.06)
    assert {"promotion nDCG@10 guard p", "promotion nDCG@10 guard low"} <= set(values)


def test_losses_of_one_student_after_another_do_not_add_up(tmp_path: Path) -> None:
    """Each within the tolerance of the one before, and together far outside it: all are held to the first."""
    settings = Promotion(guard="general", guard_tolerance=0.05)
    first = guarded(tmp_path, "base", [0.1] * 12, [0.5] * 12)
    warm = decide(tmp_path, first, guarded(tmp_path, "warm", [0.2] * 12, [0.46] * 12), settings, "nDCG@10")
    assert warm.promoted and warm.held_to == first.guarded
    kept = decide(tmp_path, warm.contender, guarded(tmp_path, "round-1", [0.3] * 12, [0.455] * 12), settings, "nDCG@10")
    assert kept.promoted and kept.held_to == first.guarded
    assert "-0.0450 against base" in kept.sentence
    lost = decide(tmp_path, kept.contender, guarded(tmp_path, "round-2", [0.4] * 12, [0.44] * 12), settings, "nDCG@10")
    assert not lost.promoted and "-0.0600 against base" in lost.sentence
    assert lost.contender == kept.contender, "who stays is held to the same"


def test_a_student_that_was_not_measured_on_the_guard_set_is_not_compared(tmp_path: Path) -> None:
    old, new = guarded(tmp_path, "base", [0.1], [0.5]), contender(tmp_path, "round-1", [0.3])
    with pytest.raises(ValueError, match="only 1 were measured on it"):
        decide(tmp_path, old, new, Promotion(), "nDCG@10")
    with pytest.raises(ValueError, match="only 0 were measured on it"):
        decide(tmp_path, contender(tmp_path, "base", [0.1]), new, Promotion(guard="general"), "nDCG@10")
