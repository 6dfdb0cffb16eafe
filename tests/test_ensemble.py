"""Several teachers as one: what the mean of standardised logits is, who is asked anew, and what is stored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from copies import copied
from scoring_bench import KEYS, PASSAGES, QUERIES, Bench, Counting, open_bench
from tiny import make_teacher

from models.fingerprint import fingerprint_folder
from models.runtime import Runtime
from models.teacher import Teacher
from tasks.artifacts import Artifact
from tasks.denoise.denoising import _check_scale
from tasks.denoise.settings import Denoising
from tasks.record import warehouse_of
from tasks.refs import Member, TeacherRef
from tasks.score.ensemble import combined, load_teacher, mean_logits, scale_of
from tasks.score.stored import known_teacher, register
from tasks.teach.ensemble import ensemble_of, gather_ensemble, in_order, score_members
from tasks.teach.settings import TeacherSettings
from warehouse.queries import quality, stored_scores
from warehouse.texts import text_hash

ASKED = list(QUERIES)[:3]
CPU = Runtime("cpu", "fp32", 1)


def ref(path: Path) -> TeacherRef:
    return TeacherRef(fingerprint=fingerprint_folder(path), path=path, name=path.name)


@pytest.fixture(scope="module")
def teachers(tmp_path_factory: pytest.TempPathFactory) -> list[TeacherRef]:
    root = tmp_path_factory.mktemp("members")
    return [ref(make_teacher(root / name, seed=seed)) for seed, name in enumerate(("a", "b", "c"), 20)]


@dataclass
class Made:
    """A bench whose ensemble of two has scored."""

    bench: Bench
    pairs: Artifact
    scored: Artifact

    def stored(self, teacher: TeacherRef) -> pl.DataFrame:
        return stored_scores(warehouse_of(self.bench.run.where), teacher.fingerprint, self.pairs.file("pairs.parquet"))


def make(home: Path, teachers: Sequence[TeacherRef]) -> Made:
    copied(scoring(tuple(teacher.path for teacher in teachers)), home)
    return play(teachers, home)  # which finds everything there


@cache
def scoring(paths: tuple[Path, ...]) -> Callable[[Path], Made]:
    return partial(play, [ref(path) for path in paths])


def play(teachers: Sequence[TeacherRef], home: Path) -> Made:
    bench = open_bench(home, teachers[0])
    pairs = bench.pairs(ASKED, PASSAGES[:8])
    bench.teacher = ensemble(bench, pairs, teachers)
    return Made(bench, pairs, bench.score(pairs))


def ensemble(bench: Bench, pairs: Artifact, teachers: Sequence[TeacherRef]) -> TeacherRef:
    scored = score_members(bench.run, bench.corpus, pairs, teachers)
    return ensemble_of(gather_ensemble(bench.root, teachers, scored), teachers)


def test_the_mean_of_standardised_logits_worked_by_hand() -> None:
    """Logits 1 and 3: mean 2, deviation 1. Logits 5 and 20 on a scale of mean 10, deviation 5: -1 and 2."""
    assert scale_of(np.array([1.0, 3.0], np.float32), "a") == (2.0, 1.0)
    teacher = TeacherRef(fingerprint="f", path=Path("f"), name="f")
    members = [Member(teacher=teacher, mean=2, deviation=1), Member(teacher=teacher, mean=10, deviation=5)]
    logits = [np.array([1.0, 3.0], np.float32), np.array([5.0, 20.0], np.float32)]
    made = mean_logits(logits, members)
    assert made.tolist() == [-1.0, 1.5] and made.dtype == np.float32


def test_a_louder_member_weighs_no_more() -> None:
    """Raw means let the model with the wider logits decide alone (pitfall 7)."""
    drawing = np.random.default_rng(0)
    quiet, other = drawing.normal(size=(2, 50)).astype(np.float32)
    loud = (30 * quiet + 100).astype(np.float32)
    teacher = TeacherRef(fingerprint="f", path=Path("f"), name="f")

    def mean(one: np.ndarray) -> np.ndarray:
        scales = [scale_of(each, "x") for each in (one, other)]
        members = [Member(teacher=teacher, mean=mean, deviation=deviation) for mean, deviation in scales]
        return mean_logits([one, other], members)

    np.testing.assert_allclose(mean(loud), mean(quiet), atol=1e-5)


@pytest.mark.parametrize("logits", [[], [2.5, 2.5, 2.5]])
def test_a_member_that_tells_nothing_apart_is_refused(logits: list[float]) -> None:
    with pytest.raises(ValueError, match=r"'flat' gives . pairs one and the same logit"):
        scale_of(np.array(logits, np.float32), "flat")


def test_members_that_scored_other_pairs_are_not_mixed(tmp_path: Path) -> None:
    """Pitfall 8: a missing score filled with something."""
    rows = pl.DataFrame({"query_hash": [1, 1], "passage_hash": [1, 2], "logit": [0.5, 1.0], "n_tokens": [3, 3]})
    frame = rows.with_columns(truncated=pl.lit(False))
    frame.write_parquet(tmp_path / "a.parquet")
    frame.head(1).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet has other pairs than .*a\.parquet \(1 and 2\)"):
        combined([tmp_path / "a.parquet", tmp_path / "b.parquet"], [])


def test_the_ensemble_and_its_members_are_stored_each_as_a_teacher(tmp_path: Path, teachers: list[TeacherRef]) -> None:
    made = make(tmp_path, teachers[:2])
    one, other, mean = (made.stored(teacher) for teacher in (*teachers[:2], made.bench.teacher))
    assert one.height == other.height == mean.height == 24
    expected = sum(
        (frame["logit"].to_numpy() - frame["logit"].to_numpy().mean()) / frame["logit"].to_numpy().std()
        for frame in (one, other)
    )
    np.testing.assert_allclose(mean["logit"].to_numpy(), expected / 2, atol=1e-5)
    assert (mean["n_tokens"] == one["n_tokens"] + other["n_tokens"]).all()
    scales = made.scored.facts["scales"]
    assert scales["a"] == pytest.approx([one["logit"].mean(), one["logit"].std(ddof=0)], abs=1e-5)
    register(made.bench.run, made.bench.teacher)
    with warehouse_of(made.bench.run.where).read() as connection:
        named = connection.execute("SELECT name, activation FROM models ORDER BY name").fetchall()
    assert named == [("a", "Sigmoid"), ("a + b", None), ("b", "Sigmoid")]
    assert quality(warehouse_of(made.bench.run.where)).height == 0


def test_another_member_is_the_only_one_that_scores(
    tmp_path: Path, teachers: list[TeacherRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A score never has to be computed twice."""
    made = make(tmp_path, teachers[:2])
    counting = Counting(monkeypatch)
    again = [teachers[0], teachers[2]]
    bench = made.bench
    bench.teacher = ensemble(bench, made.pairs, again)
    bench.score(made.pairs)
    assert len(counting.pairs) == 24
    assert made.stored(teachers[2]).height == 24
    more = bench.score(bench.pairs(ASKED, PASSAGES[:9]))
    assert len(counting.pairs) == 24 + 2 * 3
    assert (more.facts["pairs"], more.facts["new"], more.facts["reused"]) == (2 * 27, 2 * 3, 2 * 24)


def test_new_pairs_are_on_the_scale_that_was_settled(tmp_path: Path, teachers: list[TeacherRef]) -> None:
    """A scale of every round's own would move the logits under the calibration."""
    made = make(tmp_path, teachers[:2])
    more = made.bench.score(made.bench.pairs(ASKED, PASSAGES[:20]))
    assert more.facts["scales"] == made.scored.facts["scales"]
    known = pl.read_parquet(made.scored.file("scores.parquet")).select(*KEYS, "logit")
    joined = known.join(pl.read_parquet(more.file("scores.parquet")), on=KEYS)
    assert joined.height == 24 and (joined["logit"] == joined["logit_right"]).all()


def test_a_lost_warehouse_gets_every_score_back_uncomputed(
    tmp_path: Path, teachers: list[TeacherRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path, teachers[:2])
    made.bench.run.where.warehouse_path.unlink()
    fresh = open_bench(tmp_path, made.bench.teacher)
    counting = Counting(monkeypatch)
    fresh.score(made.pairs)
    assert [made.stored(teacher).height for teacher in (*teachers[:2], fresh.teacher)] == [24, 24, 24]
    assert counting.pairs == []


def test_a_search_gives_the_logit_that_is_stored(tmp_path: Path, teachers: list[TeacherRef]) -> None:
    made = make(tmp_path, teachers[:2])
    found = known_teacher(warehouse_of(made.bench.run.where), made.bench.teacher.fingerprint, False)
    assert [member.teacher.path for member in found.members] == [
        member.teacher.path for member in made.bench.teacher.members
    ]
    texts = {text_hash(text): text for text in (*PASSAGES, *QUERIES)}
    stored = made.stored(made.bench.teacher)
    pairs = [(texts[query], texts[passage]) for query, passage in stored.select(KEYS).rows()]
    ticks: list[int] = []
    scores = load_teacher(found, CPU).score(stored["query_hash"].to_numpy(), pairs, 128, ticks.append)
    np.testing.assert_allclose(scores.logits, stored["logit"].to_numpy(), atol=1e-5)
    assert scores.n_tokens.tolist() == stored["n_tokens"].to_list() and sum(ticks) == len(pairs)
    alone = [Teacher.load(teacher.path, CPU).score(pairs).logits for teacher in teachers[:2]]
    assert all(np.abs(scores.logits - each).max() > 0.1 for each in alone)


def test_the_order_of_members_is_not_identity_and_none_is_there_twice(
    tmp_path: Path, teachers: list[TeacherRef]
) -> None:
    a, b, _ = teachers
    made = make(tmp_path, [a, b])
    assert ensemble(made.bench, made.pairs, [b, a]).fingerprint == made.bench.teacher.fingerprint
    with pytest.raises(ValueError, match="names one model twice, as 'a' and 'other'"):
        in_order([a, b, a.model_copy(update={"name": "other"})])


def test_one_teacher_is_written_without_brackets() -> None:
    assert TeacherSettings.model_validate({"model": "one"}).model == ["one"]
    assert TeacherSettings.model_validate({"model": ""}).model == TeacherSettings().model == []
    with pytest.raises(ValueError, match="at least 1 character"):
        TeacherSettings.model_validate({"model": ["one", ""]})


def test_an_ensemble_has_no_probability_before_calibration(tmp_path: Path, teachers: list[TeacherRef]) -> None:
    """Pitfall 7: 0 is the mean of what was scored, not the border of what is relevant."""
    made = make(tmp_path, teachers[:2])
    with pytest.raises(ValueError, match="no absolute scale"):
        _check_scale(made.bench.teacher, Denoising(policy="drop"))
