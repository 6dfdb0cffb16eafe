"""Several processes (gloo, on the CPU) train as one process with the joint batch does."""

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from crews import killed_run, one_step, whole_run
from tiny import sentences
from tiny_corpus import make_corpus
from training import Killed, timeless

from models.crew import in_crew
from models.runtime import Runtime
from models.student import Student
from models.team import ALONE, Team
from tasks.baseline.settings import StudentSettings
from tasks.baseline.systems import base_student
from tasks.warmup.settings import Warmup
from tasks.warmup.warming import warm_student
from tasks.where import Where


def nothing(count: int) -> None:
    pass


def test_two_processes_have_the_loss_and_the_gradients_of_one_with_the_joint_batch(tiny_student: Path) -> None:
    """Gathered without gradient, negatives of the other process would be left where they are."""
    together = in_crew(2, "cpu", partial(one_step, tiny_student), nothing)
    for (loss, found), (expected, gradients) in zip(together, one_step(tiny_student, ALONE), strict=True):
        assert loss == pytest.approx(expected, rel=1e-6) and loss > 0.1
        assert found.keys() == gradients.keys() and len(gradients) > 20
        for name, gradient in gradients.items():
            np.testing.assert_allclose(found[name], gradient, rtol=1e-4, atol=1e-6)
        assert max(float(np.abs(gradient).max()) for gradient in gradients.values()) > 1e-2


@pytest.mark.slow
def test_a_training_by_two_is_that_by_one_and_the_first_alone_evaluates_and_writes(
    tiny_student: Path, tmp_path: Path
) -> None:
    expected, weights = whole_run(tiny_student, tmp_path / "one", 6, 0.0, ALONE)
    ticks: list[int] = []
    trained, ours = in_crew(2, "cpu", partial(whole_run, tiny_student, tmp_path / "two", 6, 0.0), ticks.append)
    assert sum(ticks) == 6 and len(trained.history) == len(expected.history)
    losses = [(row.loss, other.loss) for row, other in zip(trained.history[1:], expected.history[1:], strict=True)]
    assert all(ours == pytest.approx(theirs, rel=1e-3) for ours, theirs in losses) and len(losses) == 6
    if trained.best_step == expected.best_step:
        assert float(np.abs(ours - weights).max()) < 1e-3


@pytest.mark.slow
def test_what_is_wrong_in_one_process_is_raised_and_the_run_goes_on_as_if_nothing_had_been(
    tiny_student: Path, tmp_path: Path
) -> None:
    """Pitfall 28, with dropout on: a run that was ended by a process's death ends as one that was not."""
    with pytest.raises(Killed):
        in_crew(2, "cpu", partial(killed_run, tiny_student, tmp_path / "parts"), nothing)
    ticks: list[int] = []
    again = partial(whole_run, tiny_student, tmp_path / "parts", 6, 0.1)
    resumed, ours = in_crew(2, "cpu", again, ticks.append)
    assert ticks[0] >= 2
    whole, theirs = in_crew(2, "cpu", partial(whole_run, tiny_student, tmp_path / "whole", 6, 0.1), nothing)
    assert timeless(resumed) == timeless(whole) and np.array_equal(ours, theirs)


@pytest.mark.slow
def test_a_step_trains_in_as_many_processes_as_the_run_was_given(tiny_student: Path, tmp_path: Path) -> None:
    """Where it runs is no part of what it is: one name, and weights that agree up to rounding."""
    queries, passages = sentences(24, seed=1), sentences(24, seed=2)
    splits = {text: "dev" if number % 3 == 0 else "train" for number, text in enumerate(queries)}
    labels = [(query, passage, 1) for query, passage in zip(queries, passages, strict=True)]
    settings = Warmup(steps=4, batch=8, lr=1e-3, dropout=0.0, evaluate_every=4)
    made = []
    for processes in (1, 2):
        home = tmp_path / str(processes)
        where = Where(home=home, device="cpu", precision="fp32", threads=2, processes=processes)
        corpus = make_corpus(where.artifacts_path, passages, splits, labels)
        base = base_student(where, StudentSettings(model=str(tiny_student)))
        made.append(warm_student(where, corpus, base, settings, 0, "nDCG@10"))
    one, two = made
    assert one.fingerprint == two.fingerprint and (one.facts["processes"], two.facts["processes"]) == (1, 2)
    histories = [pl.read_parquet(each.file("history.parquet")) for each in made]
    assert histories[1]["step"].to_list() == histories[0]["step"].to_list()
    losses = [history["loss"].drop_nulls().to_list() for history in histories]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3) and len(losses[0]) > 0
    assert Student.load(two.file("model"), Runtime("cpu", "fp32", 1)).dimension == 32


def test_a_batch_smaller_than_the_team_is_refused_and_chunks_are_enough_for_all() -> None:
    assert sorted(map(sorted, Team(0, 3).enough([[0, 1, 2, 3, 4]]))) == [[0, 1], [2], [3, 4]]
    assert Team(1, 2).own([[0], [1], [2], [3]]) == [[1], [3]]
    with pytest.raises(ValueError, match="a batch of 2 texts can't be shared by 3 processes"):
        Team(0, 3).enough([[0, 1]])


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises(ValueError, match="2 processes need a GPU each, and there are 1"):
        in_crew(2, "cuda", one_step, nothing)  # type: ignore[arg-type]
