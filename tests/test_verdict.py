"""The first line of the summary says what is true, and no more."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tasks.report.verdict import Figures, stopped_by, verdict

QUERIES = 200
BASE = {"base": 0.55, "warm": 0.65, "warm-long": 0.66, "teacher": 0.70, "round-1": 0.68, "round-2": 0.70}


def figures_of(winner: str, test: Mapping[str, float], dev: Mapping[str, float] | None = None) -> Figures:
    means = {(system, "test"): value for system, value in test.items()}
    means |= {(system, "dev"): value for system, value in (dev or test).items()}
    rng = np.random.default_rng(0)
    frames = []
    for (system, split), value in means.items():
        noise = rng.normal(0, 0.05, QUERIES)
        values = value + noise - noise.mean()
        frames.append(
            pl.DataFrame(
                {"system": system, "split": split, "query_hash": range(QUERIES), "value": values}
            ).with_columns(measure=pl.lit("nDCG@10"))
        )
    return Figures(winner, "nDCG@10", means, pl.concat(frames))


def test_the_gain_is_split_into_labels_compute_and_teacher() -> None:
    line = verdict(figures_of("round-2", BASE))
    assert line.startswith(
        "Promoted round-2: test nDCG@10 0.700, base 0.550 (+0.150): the labels alone gave +0.100 (warm), "
        "with equal compute +0.110 (warm-long); the teacher added +0.040 [95 % interval +0.0"
    )
    assert "what would help" not in line
    assert "\n" not in line


def test_where_the_teacher_adds_nothing_the_first_line_says_exactly_that() -> None:
    line = verdict(figures_of("round-2", {**BASE, "round-2": 0.655}))
    assert "the teacher added nothing over warm-long (−0.005 [95 % interval" in line
    assert "a ready-made teacher, or more labels" in line


def test_a_gain_that_may_be_nothing_is_not_sold_as_one() -> None:
    """Pitfall 39."""
    line = verdict(figures_of("round-2", {**BASE, "round-2": 0.661}))
    assert "the teacher added +0.001 [95 % interval −0.0" in line
    assert "which may be nothing" in line
    assert "what would help" in line


def test_a_teacher_no_better_than_the_warm_student_is_named() -> None:
    line = verdict(figures_of("round-2", BASE, {**BASE, "teacher": 0.64}))
    assert "is not better than the warm student on dev (nDCG@10 0.640 against 0.650)" in line
    assert line.count("what would help") == 1
    assert "re-ranking" not in verdict(figures_of("round-2", BASE))


def test_equal_is_not_better() -> None:
    assert "is not better" in verdict(figures_of("round-2", BASE, {**BASE, "teacher": BASE["warm"]}))


def test_when_base_wins_nothing_is_promoted() -> None:
    """Pitfall 30."""
    line = verdict(figures_of("base", BASE, {"base": 0.56, "warm": 0.5, "round-1": 0.54, "round-1+teacher": 0.9}))
    assert line.startswith("Nothing is promoted: no student beat the base on dev (nDCG@10 0.560, the best student was ")
    assert "round-1 with 0.540" in line
    assert "Promoted" not in line


@pytest.mark.parametrize("winner", ["warm", "warm-long"])
def test_when_the_labels_alone_win_the_teacher_added_nothing(winner: str) -> None:
    line = verdict(figures_of(winner, BASE, {**BASE, "round-1": 0.61, "round-2": 0.6}))
    gain = f"base 0.550 (+{BASE[winner] - 0.55:.3f} [95 % interval +0."
    assert line.startswith(f"Promoted {winner}, trained on the labels alone: test nDCG@10 {BASE[winner]:.3f}, {gain}")
    assert f"no round beat it on dev (round-1 0.610, {winner} {BASE[winner]:.3f})" in line
    assert "what would help" in line


def test_without_a_test_split_dev_is_told() -> None:
    whole = figures_of("round-1", BASE)
    dev = {key: value for key, value in whole.means.items() if key[1] == "dev"}
    line = verdict(Figures("round-1", "nDCG@10", dev, whole.per_query))
    assert "dev nDCG@10 0.680" in line


def test_without_the_equal_compute_run_warm_is_the_control() -> None:
    line = verdict(figures_of("round-1", {"base": 0.5, "warm": 0.6, "round-1": 0.6 - 1e-9}))
    assert "nothing over warm" in line
    assert "warm-long" not in line


def test_where_no_round_was_measured_nothing_is_said_of_the_teacher() -> None:
    """A run that was stopped before its first round has shown nothing against its teacher."""
    line = verdict(figures_of("warm", {"base": 0.55, "warm": 0.65}, {"base": 0.56, "warm": 0.6}))
    assert line.startswith("No round was measured; warm, trained on the labels alone, leads: test nDCG@10 0.650")
    assert "teacher" not in line


def test_a_run_that_the_gate_stopped_says_so_and_what_helps() -> None:
    gate = {"system": "warm", "goes_on": False, "difference": -0.01, "p": 0.75}
    figures = figures_of("warm-long", {name: BASE[name] for name in ("base", "warm", "warm-long", "teacher")})
    line = verdict(replace(figures, stopped=stopped_by([gate])))
    assert line.startswith(
        "Promoted warm-long, trained on the labels alone: test nDCG@10 0.660, base 0.550 (+0.110 [95 % interval +0.1"
    )
    assert "no round was made: the teacher is not proven to know more than warm (re-ranking it on dev: −0.010" in line
    assert "one-sided p = 0.750" in line and line.count("what would help") == 1
    assert stopped_by([{**gate, "goes_on": True}, gate]) == "" == stopped_by([])
