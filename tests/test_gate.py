"""The teacher's gate: a teacher that knows no more than its student scores nothing in bulk."""

from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pytest

from tasks.artifacts import Artifact, make_artifact
from tasks.evaluate.measures import judged_queries, measure_queries
from tasks.evaluate.ranking import rerank
from tasks.teach.gate import Gate, hold, judge_teacher, told

QUERIES, DEPTH = 60, 10


def evaluated(root: Path, name: str, values: list[float]) -> Artifact:
    frame = pl.DataFrame({"split": "dev", "query_hash": range(len(values)), "measure": "nDCG@10", "value": values})

    def build(folder: Path) -> dict[str, str]:
        frame.write_parquet(folder / "query_metrics.parquet")
        return {"system": name}

    return make_artifact(root, "evaluate", 1, {"name": name, "values": values}, {}, build)


def outcome(root: Path, warm: list[float], teacher: list[float], rule: Literal["stop", "warn"] = "stop") -> Artifact:
    gate = Gate(rule=rule, measure="nDCG@10", seed=0)
    return judge_teacher(root, evaluated(root, "warm", warm), evaluated(root, "teacher", teacher), gate)


def reranked(root: Path, logit_of: np.ndarray) -> Artifact:
    """A warm student that has the right passage at ranks 1 to 10 in turn, re-ranked by logits (Q, depth)."""
    keys = {"query_hash": np.repeat(np.arange(QUERIES), DEPTH), "passage_hash": np.tile(np.arange(DEPTH), QUERIES)}
    ranks = keys["passage_hash"].astype(np.int32) + 1
    ranking = pl.DataFrame({**keys, "rank": ranks, "score": -ranks.astype(np.float32)})
    labels = pl.DataFrame(
        {"query_hash": range(QUERIES), "passage_hash": [n % DEPTH for n in range(QUERIES)], "grade": 1, "split": "dev"}
    )
    judged = judged_queries(labels, "dev")
    again = rerank(ranking, pl.DataFrame({**keys, "judgement": logit_of.reshape(-1)}), DEPTH)
    values = [measure_queries(judged, each, ["nDCG@10"])["value"].to_list() for each in (ranking, again)]
    return outcome(root, *values)


def knowing() -> np.ndarray:
    """Logits of a teacher that knows: the right passage has 5, the others less."""
    logits = np.random.default_rng(0).normal(-3, 1, (QUERIES, DEPTH))
    logits[np.arange(QUERIES), np.arange(QUERIES) % DEPTH] = 5.0
    return logits


def test_a_teacher_that_knows_more_passes(tmp_path: Path) -> None:
    found = reranked(tmp_path, knowing())
    assert found.facts["passed"] and found.facts["p"] < 0.001
    assert hold(found, 0)


@pytest.mark.parametrize(
    ("fault", "logits"),
    [
        ("a wrong activation: one minus it, or the wrong label of two", -knowing()),
        ("query and passage swapped: it reads another pair", np.roll(knowing(), 1, axis=0)),
        ("a random head", np.random.default_rng(1).normal(size=(QUERIES, DEPTH))),
        ("a saturated activation: all the same", np.ones((QUERIES, DEPTH))),
    ],
)
def test_a_broken_teacher_is_stopped_with_the_figures(tmp_path: Path, fault: str, logits: np.ndarray) -> None:
    """Pitfalls 13 and 27: each trains fine, and the student gets worse."""
    found = reranked(tmp_path, logits)
    assert not found.facts["passed"], fault
    assert not hold(found, 0)
    said = told(found.facts, 0)
    assert all(part in said for part in ("60 dev queries", "one-sided p", "teacher.model", "labels", "teacher.gate"))


def test_better_by_luck_is_not_proven(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    warm = rng.uniform(0.2, 0.8, 20)
    found = outcome(tmp_path, warm.tolist(), (warm + rng.normal(0.01, 0.2, 20)).tolist())
    assert found.facts["difference"] != 0
    assert not found.facts["passed"]


def test_p_is_one_sided(tmp_path: Path) -> None:
    """Counted over all sign flips of 8 differences: the mean is as high in 8 of 256."""
    differences = [0.3, 0.3, 0.3, 0.3, 0.3, -0.1, 0.1, -0.05]
    warm = [0.5] * 8
    better = outcome(tmp_path, warm, [0.5 + each for each in differences])
    worse = outcome(tmp_path, warm, [0.5 - each for each in differences])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 8)).reshape(8, -1).T
    exact = float(((signs @ np.array(differences)) >= sum(differences) - 1e-12).mean())
    assert better.facts["p"] == pytest.approx(exact, abs=0.005)
    assert worse.facts["p"] == pytest.approx(1 - exact, abs=0.005)


def test_a_warning_lets_it_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert hold(outcome(tmp_path, [0.5] * 20, [0.5] * 20, "warn"), 0)
    assert "inherits what its teacher knows" in caplog.text and "no round was made" not in caplog.text


def test_a_student_that_has_caught_up_ends_the_rounds_and_says_so(tmp_path: Path) -> None:
    """Rounds after that would teach back what the student already knows; nobody has to look for another teacher."""
    found = outcome(tmp_path, [0.5] * 20, [0.5] * 20)
    assert not hold(found, 1)
    assert "warm has caught up with its teacher, so no further round is made" in told(found.facts, 1)
    assert "teacher.model" not in told(found.facts, 1)
    assert "the gate only warns" in told(outcome(tmp_path, [0.5] * 20, [0.5] * 20, "warn").facts, 2)


def test_the_outcome_is_kept_for_the_warehouse(tmp_path: Path) -> None:
    found = outcome(tmp_path, [0.5] * 20, [0.7] * 20)
    rows = pl.read_parquet(found.file("diagnostics.parquet"))
    values = dict(zip(rows["name"], rows["value"], strict=True))
    assert values["gate nDCG@10 dev difference"] == pytest.approx(0.2)
    assert set(values) == {f"gate nDCG@10 dev {name}" for name in ("difference", "p", "low", "high")}
