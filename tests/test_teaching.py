"""Training a teacher: what it is shown, what it learns, and resume."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny import WORDS
from torch.nn import functional

from models.runtime import Runtime
from models.teacher import Teacher
from models.teaching import TeacherPlan, TeachingLists, train_teacher

FP32 = Runtime("cpu", "fp32", 1)
P = 40
POINT = TeacherPlan(steps=4, lr=1e-3, batch=3, length=4, random_share=0.5, evaluate_every=2, chunk_tokens=150)
LIST = replace(POINT, loss="listwise", seed=1)


class Killed(RuntimeError):
    """Stands for `kill -9`."""


def make_lists(queries: int = 8) -> TeachingLists:
    """A passage is relevant where it repeats the query's word; hard negatives share its number of words."""
    passages = [f"{WORDS[row]} " * (1 + row % 5) for row in range(P)]
    return TeachingLists(
        queries=[WORDS[row] for row in range(queries)],
        passages=passages,
        positives=[np.array([row, row + 20]) if row % 2 else np.array([row]) for row in range(queries)],
        hard=[np.array([row + 5, row + 10, row + 15]) for row in range(queries)],
    )


def flat(teacher: Teacher) -> torch.Tensor:
    return torch.cat([value.reshape(-1).float() for _, value in sorted(teacher.state().items())])


def rising() -> Callable[[Teacher], float]:
    """A measure that every evaluation betters."""
    calls = iter(range(100))
    return lambda teacher: float(next(calls))


def shown(lists: TeachingLists, plan: TeacherPlan, steps: int) -> list[tuple[int, list[int]]]:
    """Query and passage rows of every drawn list."""
    rows = {text: row for row, text in enumerate(lists.passages)}
    queries = {text: row for row, text in enumerate(lists.queries)}
    found = []
    for step in range(steps):
        batch = lists.draw(plan, step)
        pairs = iter(batch.pairs)
        for row in batch.mask:
            held = [next(pairs) for _ in range(int(row.sum()))]
            assert len({query for query, _ in held}) == 1
            found.append((queries[held[0][0]], [rows[passage] for _, passage in held]))
        assert next(pairs, None) is None
    return found


def test_a_list_is_one_positive_and_distinct_negatives_none_of_them_a_positive() -> None:
    """Pitfall 16: another positive of the query drawn as a random negative."""
    lists = make_lists()
    for share in (0.0, 0.4, 1.0):
        for query, rows in shown(lists, replace(POINT, random_share=share, length=30 if share == 1.0 else 4), 30):
            assert rows[0] in lists.positives[query] and len(set(rows)) == len(rows)
            assert not set(rows[1:]) & set(lists.positives[query].tolist())


def test_the_share_of_random_negatives_is_what_was_asked_for() -> None:
    lists = make_lists()
    hard = [
        row in lists.hard[query]
        for query, rows in shown(lists, replace(POINT, random_share=0.7), 300)
        for row in rows[1:]
    ]
    # a random draw out of 40 is one of the three hard ones now and then
    assert 1 - np.mean(hard) == pytest.approx(0.7 * (1 - 3 / 39), abs=0.04)
    only = shown(lists, replace(POINT, random_share=0.0), 20)
    assert all(set(rows[1:]) == set(lists.hard[query].tolist()) for query, rows in only)


def test_missing_hard_negatives_make_a_list_shorter_and_are_not_filled() -> None:
    """Pitfall 19."""
    lists = make_lists()
    lists = replace(lists, hard=[rows[:1] for rows in lists.hard])
    assert {len(rows) for _, rows in shown(lists, replace(POINT, random_share=0.0), 10)} == {2}


def test_a_small_corpus_gives_what_it_has() -> None:
    lists = TeachingLists(["a"], ["x", "y", "z"], [np.array([1])], [np.array([0])])
    plan = replace(POINT, batch=1, length=9, random_share=1.0)
    assert sorted(shown(lists, plan, 1)[0][1]) == [0, 1, 2]


def test_negatives_are_drawn_afresh_every_epoch_and_follow_from_seed_and_step() -> None:
    lists = make_lists()
    assert lists.batches(POINT) == 2
    first, later = ({query: rows for query, rows in shown_epoch(lists, epoch)} for epoch in (0, 1))
    assert any(first[query] != later[query] for query in first.keys() & later.keys())
    assert lists.draw(POINT, 7).pairs == make_lists().draw(POINT, 7).pairs
    assert lists.draw(POINT, 7).pairs != lists.draw(replace(POINT, seed=9), 7).pairs


def shown_epoch(lists: TeachingLists, epoch: int) -> list[tuple[int, list[int]]]:
    return shown(lists, POINT, 2 * epoch + 2)[-6:]


@pytest.mark.parametrize("loss", ["pointwise", "listwise"])
@pytest.mark.parametrize("chunk_tokens", [1, 40, 10_000])
def test_the_loss_of_a_step_is_that_of_all_its_pairs_at_once(
    tiny_teacher: Path, tmp_path: Path, loss: Any, chunk_tokens: int
) -> None:
    """Gradients add up over chunks to the mean over pairs (point-wise) or lists (list-wise)."""
    lists = replace(make_lists(), hard=[rows[: 1 + number % 3] for number, rows in enumerate(make_lists().hard)])
    plan = replace(POINT, steps=1, loss=loss, batch=8, random_share=0.0, chunk_tokens=chunk_tokens, clip=0.0)
    teacher = still(tiny_teacher)
    batch = lists.draw(plan, 0)
    logits = teacher.forward(teacher.assemble(batch.pairs))
    if loss == "pointwise":
        labels = torch.tensor([float(first) for row in batch.mask for first in np.arange(row.sum()) == 0])
        expected = functional.binary_cross_entropy_with_logits(logits, labels)
    else:
        parts = torch.split(logits, batch.mask.sum(1).tolist())
        expected = torch.stack([functional.cross_entropy(part[None], torch.tensor([0])) for part in parts]).mean()
    expected.backward()
    wanted = {name: parameter.grad for name, parameter in teacher.named_parameters() if parameter.grad is not None}
    assert len(wanted) > 20
    for cache in (False, True):
        found, loss_seen = stepped(tiny_teacher, lists, replace(plan, cache=cache), tmp_path / str(cache))
        assert loss_seen == pytest.approx(expected.item(), rel=1e-5)
        for name, gradient in wanted.items():
            assert torch.allclose(found[name], gradient, rtol=1e-3, atol=1e-6), name


def still(path: Path) -> Teacher:
    """A teacher without dropout."""
    teacher = Teacher.load(path, FP32)
    for module in teacher.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return teacher


def stepped(path: Path, lists: TeachingLists, plan: TeacherPlan, folder: Path) -> tuple[dict[str, torch.Tensor], float]:
    """Gradients and loss of one training step."""
    teacher, found = still(path), {}
    for name, parameter in teacher.named_parameters():
        parameter.register_post_accumulate_grad_hook(lambda p, n=name: found.__setitem__(n, p.grad.clone()))
    taught = train_teacher(teacher, lists, [plan], rising(), folder)
    loss = taught.phases[0].history[-1].loss
    assert loss is not None
    return found, loss


@pytest.mark.parametrize("loss", ["pointwise", "listwise"])
def test_a_teacher_learns_to_tell_its_positives(tiny_teacher: Path, tmp_path: Path, loss: Any) -> None:
    lists, teacher = make_lists(), Teacher.load(tiny_teacher, FP32)

    def ranked_first(teacher: Teacher) -> float:
        hits = 0
        for query, positives, hard in zip(lists.queries, lists.positives, lists.hard, strict=True):
            logits = teacher.score([(query, lists.passages[row]) for row in [positives[0], *hard]]).logits
            hits += int(logits.argmax() == 0)
        return hits / len(lists)

    plan = replace(POINT, loss=loss, steps=60, lr=3e-3, batch=8, evaluate_every=10, random_share=0.3)
    taught = train_teacher(teacher, lists, [plan], ranked_first, tmp_path)
    start = taught.phases[0].history[0].measure
    assert start is not None and start < 0.7
    assert taught.phases[0].best_measure > 0.85 and ranked_first(teacher) == taught.phases[0].best_measure


def test_phases_follow_from_the_best_of_the_one_before(tiny_teacher: Path, tmp_path: Path) -> None:
    weights: list[torch.Tensor] = []
    measures = iter([0.1, 0.6, 0.3, 0.6, 0.7, 0.2])

    def measure(teacher: Teacher) -> float:
        weights.append(flat(teacher))
        return next(measures)

    teacher = Teacher.load(tiny_teacher, FP32)
    taught = train_teacher(teacher, make_lists(), [POINT, LIST], measure, tmp_path)
    assert torch.equal(weights[3], weights[1]) and torch.equal(flat(teacher), weights[4])
    assert [phase.best_step for phase in taught.phases] == [2, 2] and taught.listwise


def test_a_list_wise_phase_that_never_helped_leaves_a_point_wise_teacher(tiny_teacher: Path, tmp_path: Path) -> None:
    """Pitfall 7: whether logits have an absolute scale depends on which weights were kept."""
    measures = iter([0.1, 0.6, 0.3, 0.6, 0.5, 0.2])
    taught = train_teacher(
        Teacher.load(tiny_teacher, FP32), make_lists(), [POINT, LIST], lambda teacher: next(measures), tmp_path
    )
    assert taught.phases[1].best_step == 0 and not taught.listwise


@pytest.mark.parametrize("killed", [1, 3, 5, 7])
def test_a_killed_teacher_ends_as_an_uninterrupted_one_to_the_bit(
    tiny_teacher: Path, tmp_path: Path, killed: int
) -> None:
    """Pitfall 28, in either phase."""

    def measure(teacher: Teacher) -> float:
        return float(np.sin(1000 * float(flat(teacher).abs().sum())))

    def run(folder: Path, tick: Callable[[int], None] | None = None) -> tuple[torch.Tensor, Any]:
        teacher = Teacher.load(tiny_teacher, FP32)
        plans = [replace(plan, save_seconds=0.0) for plan in (POINT, LIST)]
        taught = train_teacher(teacher, make_lists(), plans, measure, folder, tick)
        return flat(teacher), [replace(phase, seconds=0.0, history=()) for phase in taught.phases]

    done = 0

    def kill(count: int) -> None:
        nonlocal done
        done += count
        if done >= killed:
            raise Killed

    expected = run(tmp_path / "whole")
    with pytest.raises(Killed):
        run(tmp_path / "parts", kill)
    resumed = run(tmp_path / "parts")
    assert torch.equal(resumed[0], expected[0]) and resumed[1] == expected[1]


def test_lists_that_would_teach_a_positive_as_wrong_are_refused() -> None:
    lists = make_lists()
    with pytest.raises(ValueError, match="has a positive among its hard negatives"):
        replace(lists, hard=[np.array([0, 5]), *lists.hard[1:]])
    with pytest.raises(ValueError, match="has no positive"):
        replace(lists, positives=[np.array([], dtype=np.int64), *lists.positives[1:]])
    with pytest.raises(ValueError, match="don't belong together"):
        replace(lists, hard=lists.hard[1:])


def test_hard_negatives_that_are_wanted_and_nowhere_there_are_an_error(tiny_teacher: Path, tmp_path: Path) -> None:
    lists = replace(make_lists(), hard=[np.array([], dtype=np.int64)] * 8)
    teacher = Teacher.load(tiny_teacher, FP32)
    with pytest.raises(ValueError, match="no query has one"):
        train_teacher(teacher, lists, [POINT], rising(), tmp_path)
    only = replace(POINT, steps=1, random_share=1.0)
    assert train_teacher(teacher, lists, [only], rising(), tmp_path).phases[0].steps == 1


@pytest.mark.parametrize("bad", [{"length": 1}, {"random_share": 1.5}, {"batch": 0}, {"steps": 0}, {"warmup": 1.0}])
def test_a_plan_refuses_nonsense(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="got"):
        TeacherPlan(**{"steps": 3, **bad})


def test_the_digest_names_texts_labels_and_negatives() -> None:
    lists = make_lists()
    variants = [
        replace(lists, queries=["other", *lists.queries[1:]]),
        replace(lists, passages=["other", *lists.passages[1:]]),
        replace(lists, positives=[np.array([1]), *lists.positives[1:]]),
        replace(lists, hard=[np.array([7]), *lists.hard[1:]]),
    ]
    assert len({lists.digest(), *(variant.digest() for variant in variants)}) == 5
