"""Any pairs are scored by the step and into the store that `distill` uses: none twice, none lost, none by halves."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from scoring_bench import PASSAGES, Counting, open_bench
from scoring_desk import ASKED, Desk, by_id, by_text
from sources import write_jsonl

from models.teacher import NonFiniteScore, Teacher
from tasks.deliver.receipt import Receipt
from tasks.record import warehouse_of
from tasks.refs import TeacherRef
from tasks.score.folds import open_scorer
from tasks.score.stored import register
from warehouse.load import load_corpus


@pytest.fixture
def teacher(tiny_teacher: Path) -> TeacherRef:
    return TeacherRef(fingerprint="teacher-one-fingerprint", path=tiny_teacher, name="tiny")


@pytest.fixture
def desk(tmp_path: Path, teacher: TeacherRef) -> Desk:
    return Desk(open_bench(tmp_path / "home", teacher))


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    return Counting(monkeypatch)


def counts(receipt: Receipt) -> tuple[int, int, int]:
    return receipt.pairs, receipt.new, receipt.reused


def test_what_distill_scored_is_not_scored_again_and_the_other_way_round(
    desk: Desk, tmp_path: Path, counting: Counting
) -> None:
    desk.bench.score(desk.bench.pairs(ASKED, PASSAGES[:6]))
    counting.pairs.clear()
    assert counts(desk.score(by_id(tmp_path / "ids.jsonl", range(6), range(3, 9)))) == (36, 18, 18)
    assert {passage for _, passage in counting.pairs} == set(PASSAGES[6:9]) and len(counting.pairs) == 18
    counting.pairs.clear()
    assert desk.bench.score(desk.bench.pairs(ASKED, PASSAGES[6:9])).facts["new"] == 0
    assert counting.pairs == []


def test_a_text_is_the_same_under_another_id_and_in_another_corpus(
    desk: Desk, tmp_path: Path, counting: Counting
) -> None:
    """Pitfall 3 from the other side: scores kept by id are computed again for every corpus."""
    assert counts(desk.score(by_text(tmp_path / "texts.jsonl", ASKED, PASSAGES[:4]))) == (24, 24, 0)
    row = {"query_id": "mine", "query": ASKED[0], "passage_id": "also mine", "passage": PASSAGES[0]}
    assert counts(desk.score(write_jsonl(tmp_path / "named.jsonl", [row, row]))) == (1, 0, 1)
    other = open_bench(desk.bench.home, desk.bench.teacher, PASSAGES[:4])
    load_corpus(warehouse_of(other.run.where), other.run.id, "other", other.corpus.path, other.corpus.fingerprint)
    ids = by_id(tmp_path / "ids.jsonl", range(6), range(4))
    assert counts(desk.score(ids, corpus="other")) == (24, 0, 24)
    assert len(counting.pairs) == 24


def test_an_unchanged_second_call_loads_no_teacher(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = by_text(tmp_path / "texts.jsonl", ASKED, PASSAGES[:4])
    first = desk.score(path)
    assert first.tokens > 0 and first.seconds > 0
    made = sorted(desk.bench.root.glob("*/*"))
    open_scorer.cache_clear()
    monkeypatch.setattr(Teacher, "load", classmethod(lambda *args: pytest.fail("the teacher was loaded")))
    again = desk.score(path)
    assert counts(again) == (24, 0, 24) and (again.tokens, again.seconds) == (0, 0.0)
    assert again.truncated == first.truncated
    assert sorted(desk.bench.root.glob("*/*")) == made


def test_an_edited_text_behind_an_id_is_a_new_pair(desk: Desk, tmp_path: Path, counting: Counting) -> None:
    """Pitfall 3: scores kept by id; the passage was edited, and the old score is served."""
    ids = by_id(tmp_path / "ids.jsonl", range(6), range(6))
    desk.score(ids)
    counting.pairs.clear()
    edited = [PASSAGES[0] + " new", *PASSAGES[1:]]
    assert counts(Desk(open_bench(desk.bench.home, desk.bench.teacher, edited)).score(ids)) == (36, 6, 30)
    assert {passage for _, passage in counting.pairs} == {edited[0]}


def test_an_edit_that_the_file_does_not_ask_about_changes_nothing(desk: Desk, tmp_path: Path) -> None:
    ids = by_id(tmp_path / "ids.jsonl", range(6), range(6))
    desk.score(ids)
    made = sorted((desk.bench.root / "score").glob("*"))
    edited = [*PASSAGES[:6], PASSAGES[6] + " new", *PASSAGES[7:]]
    assert counts(Desk(open_bench(desk.bench.home, desk.bench.teacher, edited)).score(ids)) == (36, 0, 36)
    assert sorted((desk.bench.root / "score").glob("*")) == made


def test_an_interrupted_scoring_goes_on_and_ends_bit_equal(
    tmp_path: Path, teacher: TeacherRef, counting: Counting
) -> None:
    """Pitfall 4: what was cut off in the middle taken for whole, or everything computed again."""
    path = by_text(tmp_path / "texts.jsonl", ASKED, PASSAGES)
    Desk(open_bench(tmp_path / "whole", teacher)).score(path, tmp_path / "whole.parquet")
    desk, seen = Desk(open_bench(tmp_path / "cut", teacher)), []

    def before(pairs: Sequence[tuple[str, str]]) -> None:
        seen.append(len(pairs))
        if len(seen) == 3:
            raise KeyboardInterrupt

    counting.before = before
    with pytest.raises(KeyboardInterrupt):
        desk.score(path, tmp_path / "cut.parquet")
    assert not (tmp_path / "cut.parquet").exists()
    # What was computed and could no longer be loaded is brought in by the second call, from its shard.
    (stored,) = desk.rows("SELECT count(*) FROM teacher_scores")[0]
    kept = sum(seen[:2])
    counting.before, counting.pairs = lambda pairs: None, []
    receipt = desk.score(path, tmp_path / "cut.parquet")
    assert len(counting.pairs) == 180 - kept and kept > 0
    assert counts(receipt) == (180, 180 - stored, stored) and stored <= kept
    assert pl.read_parquet(tmp_path / "cut.parquet").equals(pl.read_parquet(tmp_path / "whole.parquet"))


def test_a_logit_that_is_not_finite_fails_its_shard_alone(desk: Desk, tmp_path: Path, counting: Counting) -> None:
    """Pitfall 11: the pair is named, its shard is not loaded, the others are, and no file is written."""
    bad = (ASKED[0], PASSAGES[4])

    def before(pairs: Sequence[tuple[str, str]]) -> None:
        if bad in pairs:
            raise NonFiniteScore(f"the teacher gave nan for query {bad[0]!r} and passage {bad[1]!r}")

    counting.before = before
    out = tmp_path / "out.csv"
    with pytest.raises(RuntimeError, match="1 of 4 shards failed; 3 kept; run again to go on") as caught:
        desk.score(by_text(tmp_path / "texts.jsonl", ASKED, PASSAGES), out)
    assert repr(bad[1]) in str(caught.value)
    stored = desk.rows("SELECT count(*) FROM teacher_scores")[0][0]
    assert stored == len(counting.pairs) > 0 and not out.exists()
    assert not list((desk.bench.root / "score").glob("*"))


def test_a_file_that_is_refused_leaves_nothing(desk: Desk, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "p.jsonl", [{"query": "new", "passage_id": "p1"}, {"query": "x", "passage_id": "no"}])
    tables = [desk.rows(f"FROM {name} ORDER BY ALL") for name in ("queries", "passages", "artifacts", "teacher_scores")]
    made = sorted(desk.bench.root.rglob("*"))
    with pytest.raises(ValueError, match=r"p\.jsonl:2: passage 'no' is not in the corpus"):
        desk.score(path)
    assert tables == [
        desk.rows(f"FROM {name} ORDER BY ALL") for name in ("queries", "passages", "artifacts", "teacher_scores")
    ]
    assert sorted(desk.bench.root.rglob("*")) == made


def test_new_texts_are_added_and_known_ones_stay(desk: Desk, tmp_path: Path) -> None:
    ids = "SELECT (SELECT count(*) FROM passage_ids), (SELECT count(*) FROM query_ids), (SELECT count(*) FROM labels)"
    before = dict(desk.rows("SELECT passage_key, text FROM passages")), desk.rows(ids)
    desk.score(by_text(tmp_path / "texts.jsonl", ["how new"], [PASSAGES[0], "a new house"]))
    after = dict(desk.rows("SELECT passage_key, text FROM passages"))
    assert before[0].items() <= after.items() and len(after) == len(before[0]) + 1
    assert desk.rows(ids) == before[1]
    assert desk.rows("SELECT sum(problems) FROM data_quality") == [(0,)]


def test_a_calibration_outlives_a_scoring_that_knows_none(desk: Desk, teacher: TeacherRef) -> None:
    """a = 1 and b = 0 written over what a run fitted would change the probabilities of all its candidates."""
    run = desk.bench.run
    register(run, teacher)
    assert desk.rows("SELECT a, b FROM models") == [(1.0, 0.0)]
    register(run, teacher.model_copy(update={"a": 0.5, "b": -2.0, "calibrated": True}))
    register(run, teacher)
    assert desk.rows("SELECT a, b FROM models") == [(0.5, -2.0)]
    register(run, teacher.model_copy(update={"a": 0.25, "b": 1.0, "calibrated": True}))
    assert desk.rows("SELECT a, b FROM models") == [(0.25, 1.0)]
