"""What students' and teachers' training share: the best is kept, and a killed run ends as an uninterrupted one."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny import sentences
from training import FP32, PLAN, Killed, N, by_weights, flat, kill_after, make_lists, scripted, timeless, train

from models.checkpoint import Checkpoints
from models.fitting import Plan, Work, fit
from models.loop import train_student
from models.objectives import Term
from models.schedule import make_optimizer, rate
from models.student import Student


@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize("killed", [1, 3, 5])
def test_a_killed_run_ends_as_an_uninterrupted_one_to_the_bit(
    tiny_student: Path, tmp_path: Path, killed: int, cache: bool
) -> None:
    """Pitfall 28; with dropout on, a schedule that moves and moments that matter."""
    plan = replace(PLAN, save_seconds=0.0, cache=cache)
    whole, expected = train(tiny_student, tmp_path / "whole", plan)
    with pytest.raises(Killed):
        train(tiny_student, tmp_path / "parts", plan, tick=kill_after(killed))
    torch.rand(7)  # whatever else happens in the new process
    ticks: list[int] = []
    resumed, trained = train(tiny_student, tmp_path / "parts", plan, tick=ticks.append)
    assert ticks[0] == killed and sum(ticks) == 6
    assert timeless(trained) == timeless(expected)
    assert (trained.best_step, trained.best_measure) == (expected.best_step, expected.best_measure)
    assert torch.equal(flat(resumed), flat(whole))


def test_a_run_killed_between_saves_repeats_the_steps_after_the_last(
    tiny_student: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A better step after the last save must not take away the best weights that the saved state names."""
    measures = [0.1, 0.5, 0.2, 0.9, 0.3, 0.4, 0.6]
    plan = replace(PLAN, evaluate_every=1, save_seconds=0.0)
    whole, expected = train(tiny_student, tmp_path / "whole", plan, scripted(measures))
    kept = Checkpoints.save

    def save_at_two(self: Checkpoints, step: int, *rest: Any) -> None:
        if step == 2:
            kept(self, step, *rest)

    monkeypatch.setattr(Checkpoints, "save", save_at_two)
    with pytest.raises(Killed):
        train(tiny_student, tmp_path / "parts", plan, scripted(measures), tick=kill_after(4))
    assert {path.name for path in (tmp_path / "parts").glob("best-*")} == {"best-1.safetensors", "best-3.safetensors"}
    resumed, trained = train(tiny_student, tmp_path / "parts", plan, scripted(measures[3:]))
    assert trained.best_step == expected.best_step == 3 and timeless(trained) == timeless(expected)
    assert torch.equal(flat(resumed), flat(whole))


def test_a_kill_while_the_state_is_written_leaves_the_one_before(
    tiny_student: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pitfall 4: an interrupted write is never taken for whole."""
    plan = replace(PLAN, save_seconds=0.0)
    whole, _ = train(tiny_student, tmp_path / "whole", plan)
    writing = Path.write_text

    def die_at_three(self: Path, text: str, *rest: Any) -> int:
        if self.name == "progress.json" and json.loads(text)["step"] == 3:
            raise Killed
        return writing(self, text, *rest)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Path, "write_text", die_at_three)
        train(tiny_student, tmp_path / "parts", plan)
    assert (tmp_path / "parts" / "state-3.tmp").exists()
    ticks: list[int] = []
    resumed, _ = train(tiny_student, tmp_path / "parts", plan, tick=ticks.append)
    assert ticks[0] == 2 and torch.equal(flat(resumed), flat(whole))


def test_a_finished_run_is_read_and_not_repeated(tiny_student: Path, tmp_path: Path) -> None:
    first, expected = train(tiny_student, tmp_path)

    def refuse(student: Student) -> float:
        raise AssertionError("evaluated again")

    again, trained = train(tiny_student, tmp_path, measure=refuse)
    assert trained == expected and torch.equal(flat(again), flat(first))


@pytest.mark.parametrize(
    "change", [{"lr": 2e-3}, {"terms": (Term("kl", tau=0.2),)}, {"seed": 1}, {"frozen": ("bias",)}]
)
def test_a_state_of_another_run_is_refused(tiny_student: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    """Pitfall 6: two runs in one folder."""
    train(tiny_student, tmp_path, replace(PLAN, steps=1))
    with pytest.raises(ValueError, match=f"another training run.*{next(iter(change))}"):
        train(tiny_student, tmp_path, replace(PLAN, steps=1, **change))


def test_a_state_of_other_lists_or_other_starting_weights_is_refused(tiny_student: Path, tmp_path: Path) -> None:
    plan = replace(PLAN, steps=1)
    student, _ = train(tiny_student, tmp_path, plan)
    student = Student.load(tiny_student, FP32)
    fewer = make_lists(student).select(np.arange(N) > 0)
    with pytest.raises(ValueError, match="another training run: data"):
        train_student(student, fewer, plan, by_weights, tmp_path)
    with torch.no_grad():
        next(student.parameters()).add_(1)
    with pytest.raises(ValueError, match="another training run: start"):
        train_student(student, make_lists(student), plan, by_weights, tmp_path)


def test_what_a_state_is_made_of_is_never_unpickled(tiny_student: Path, tmp_path: Path) -> None:
    """Pitfall 47."""
    with pytest.raises(Killed):
        train(tiny_student, tmp_path, replace(PLAN, save_seconds=0.0), tick=kill_after(3))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".safetensors", ".json"} and len(files) >= 5


def test_the_best_step_is_restored_and_not_the_last(tiny_student: Path, tmp_path: Path) -> None:
    """Pitfall 29."""
    states, measures = {}, iter([0.1, 0.7, 0.7, 0.2])

    def measure(student: Student) -> float:
        states[len(states) * 2] = flat(student)
        return next(measures)

    student, trained = train(tiny_student, tmp_path, measure=measure)
    assert (trained.best_step, trained.best_measure, trained.steps, trained.unfinished) == (2, 0.7, 6, False)
    assert torch.equal(flat(student), states[2])
    assert len({float(state.sum()) for state in states.values()}) == 4


def test_the_best_is_restored_with_every_module(tmp_path: Path, tiny_student: Path) -> None:
    """Pitfall 28: pooling and dense layers are weights too."""
    from sentence_transformers import SentenceTransformer, models

    base = SentenceTransformer(str(tiny_student), device="cpu")
    modules = [base[0], base[1], models.Dense(32, 16), models.Normalize()]
    student = Student(SentenceTransformer(modules=modules, device="cpu"), FP32)
    dense = []

    def measure(student: Student) -> float:
        dense.append(student.model[2].linear.weight.detach().clone())
        return [0.1, 0.6, 0.2, 0.3][len(dense) - 1]

    train_student(student, make_lists(student), PLAN, measure, tmp_path)
    assert torch.equal(student.model[2].linear.weight, dense[1]) and not torch.equal(dense[1], dense[3])


def test_the_start_takes_part_and_can_win(tiny_student: Path, tmp_path: Path) -> None:
    """Pitfall 30: a student worse than its start is not what training gives back."""
    before = flat(Student.load(tiny_student, FP32))
    student, trained = train(tiny_student, tmp_path, measure=scripted([0.5, 0.4, 0.3, 0.5]))
    assert trained.best_step == 0 and not trained.unfinished and torch.equal(flat(student), before)
    assert trained.history[0].measure == 0.5 and trained.history[0].loss is None


def test_a_best_that_is_the_last_is_called_unfinished(tiny_student: Path, tmp_path: Path) -> None:
    """Pitfall 29."""
    _, trained = train(tiny_student, tmp_path, measure=scripted([0.1, 0.2, 0.3, 0.4]))
    assert trained.best_step == trained.steps == 6 and trained.unfinished


def test_patience_counts_evaluations_without_a_better_one(tiny_student: Path, tmp_path: Path) -> None:
    plan = replace(PLAN, steps=20, evaluate_every=1, patience=2)
    _, trained = train(tiny_student, tmp_path, plan, scripted([0.1, 0.3, 0.2, 0.4, 0.4, 0.1, 9.9]))
    assert (trained.best_step, trained.steps, trained.unfinished) == (3, 5, False)


def test_the_last_step_is_evaluated_even_where_it_is_not_due(tiny_student: Path, tmp_path: Path) -> None:
    _, trained = train(tiny_student, tmp_path, replace(PLAN, evaluate_every=4), scripted([0.1, 0.3, 0.2]))
    assert [row.step for row in trained.history if row.measure is not None] == [0, 4, 6]


def test_an_evaluation_disturbs_neither_dropout_nor_draws(tiny_student: Path, tmp_path: Path) -> None:
    def noisy(student: Student) -> float:
        torch.rand(13)
        np.random.default_rng().random(3)
        student.encode_queries(sentences(3))
        return by_weights(student)

    quiet, expected = train(tiny_student, tmp_path / "quiet")
    loud, trained = train(tiny_student, tmp_path / "loud", measure=noisy)
    assert timeless(trained) == timeless(expected) and torch.equal(flat(loud), flat(quiet))


def test_training_leaves_the_callers_random_state_alone(tiny_student: Path, tmp_path: Path) -> None:
    student = Student.load(tiny_student, FP32)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train_student(student, make_lists(student), PLAN, by_weights, tmp_path)
    assert torch.equal(torch.rand(3), expected)


def test_a_loss_that_is_not_a_number_names_its_step(tiny_student: Path, tmp_path: Path) -> None:
    def poison(student: Student) -> float:
        poison.calls = getattr(poison, "calls", 0) + 1  # type: ignore[attr-defined]
        if poison.calls == 2:  # type: ignore[attr-defined]
            with torch.no_grad():
                next(student.parameters()).fill_(math.nan)
        return 0.5

    with pytest.raises(FloatingPointError, match="step 3 of 6: the loss is nan"):
        train(tiny_student, tmp_path, measure=poison)


def test_a_measure_that_is_not_a_number_is_refused(tiny_student: Path, tmp_path: Path) -> None:
    with pytest.raises(FloatingPointError, match="step 2: the dev measure is nan"):
        train(tiny_student, tmp_path, measure=scripted([0.1, math.nan]))


def test_the_learning_rate_rises_and_falls_in_lines_and_is_never_zero() -> None:
    rates = [rate(step, 10, 0.3) for step in range(10)]
    assert rates[:4] == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert rates[3:] == pytest.approx([(10 - step) / 7 for step in range(3, 10)])
    assert [rate(step, 4, 0.0) for step in range(4)] == [1.0, 0.75, 0.5, 0.25]


def test_every_step_has_its_rate_and_random_numbers_of_its_own(
    tiny_student: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    student, rates, drawn = Student.load(tiny_student, FP32), [], []
    stepping = torch.optim.AdamW.step

    def note(self: torch.optim.AdamW, *rest: Any) -> Any:
        rates.append([group["lr"] for group in self.param_groups])
        return stepping(self, *rest)

    def descend(step: int) -> tuple[float, int]:
        drawn.append(float(torch.rand(1)))
        loss = next(student.parameters()).square().sum()
        loss.backward()
        return float(loss.detach()), 1

    monkeypatch.setattr(torch.optim.AdamW, "step", note)
    fit(student, Plan(4, lr=0.1, warmup=0.5), Work(descend, lambda: 0.5, 1, "data"), tmp_path / "one")
    assert rates == [pytest.approx([0.1 * rate(step, 4, 0.5)] * 2) for step in range(4)]
    assert len(set(drawn)) == 4
    again = Student.load(tiny_student, FP32)
    fit(again, Plan(4, seed=1), Work(descend, lambda: 0.5, 1, "data"), tmp_path / "other")
    assert len(set(drawn)) == 8


def test_biases_and_norms_are_spared_by_weight_decay(tiny_student: Path) -> None:
    student = Student.load(tiny_student, FP32)
    optimizer = make_optimizer(student.named_parameters(), 1e-3, 0.1)
    decay = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    spared = {name for name, parameter in student.named_parameters() if decay[id(parameter)] == 0}
    assert all(name.endswith("bias") or "LayerNorm" in name for name in spared)
    assert all(name in spared for name, _ in student.named_parameters() if name.endswith("bias") or "LayerNorm" in name)
    assert set(decay.values()) == {0.0, 0.1}


def test_the_gradient_is_clipped_to_its_largest_norm(tiny_student: Path, tmp_path: Path, monkeypatch: Any) -> None:
    norms = []
    stepping = torch.optim.AdamW.step

    def note(self: torch.optim.AdamW, *rest: Any) -> Any:
        gradients = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
        norms.append(float(torch.stack([gradient.norm() for gradient in gradients]).norm()))
        return stepping(self, *rest)

    monkeypatch.setattr(torch.optim.AdamW, "step", note)
    train(tiny_student, tmp_path / "free", replace(PLAN, steps=2, clip=0.0))
    train(tiny_student, tmp_path / "held", replace(PLAN, steps=2, clip=0.01))
    assert min(norms[:2]) > 0.02 and norms[2:] == pytest.approx([0.01, 0.01], rel=1e-2)


def test_frozen_parameters_stay_and_are_given_back(tiny_student: Path, tmp_path: Path) -> None:
    before = Student.load(tiny_student, FP32).state()
    plan = replace(PLAN, frozen=("word_embeddings",))
    student, _ = train(tiny_student, tmp_path, plan, scripted([0.1, 0.2, 0.3, 0.4]))
    moved = {name for name, value in student.state().items() if not torch.equal(value, before[name])}
    still = {name for name in before if "word_embeddings" in name}
    assert still and not still & moved and len(moved) > 20
    assert all(parameter.requires_grad for parameter in student.parameters())
    with pytest.raises(ValueError, match="no parameter's name contains 'word_embedings'"):
        train(tiny_student, tmp_path / "typo", replace(plan, frozen=("word_embedings",)))
