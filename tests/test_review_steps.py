"""What people say reaches training, and only training: nothing is scored again, dev and test stay as they are."""

from pathlib import Path

import polars as pl
import pytest
from test_round_steps import LABELS, PASSAGES, QUERIES, bare, count
from tiny_corpus import make_corpus

from models.lists import Role
from models.runtime import Runtime
from models.student import Student
from tasks.artifacts import Artifact
from tasks.denoise.evidence import Evidence, Reviewed
from tasks.denoise.settings import Denoising
from tasks.denoise.task import denoise
from tasks.encode import encode
from tasks.mine.miners import Miner, Miners
from tasks.mine.settings import Mining
from tasks.mine.task import mine
from tasks.record import record, warehouse_of
from tasks.refs import Run, StudentRef, TeacherRef
from tasks.report.people import people_notes
from tasks.review.importing import import_answers
from tasks.review.labels import review_artifact, usable_labels, with_duplicates
from tasks.review.task import review
from tasks.score.task import score
from tasks.train.arrays import Texts, pair_keys, training_lists
from tasks.where import Where
from warehouse.load import load_corpus, start_run
from warehouse.queries import quality
from warehouse.reviews import agreement
from warehouse.texts import text_hash

TRAIN = [query for query, split in QUERIES.items() if split == "train"]


@pytest.fixture(scope="module")
def models(tiny_student: Path, tiny_teacher: Path) -> tuple[StudentRef, TeacherRef]:
    student = StudentRef(system="base", fingerprint="student-one", path=tiny_student)
    return student, TeacherRef(fingerprint="teacher-one", path=tiny_teacher, name="tiny")


def play(where: Where, models: tuple[StudentRef, TeacherRef]) -> tuple[Run, Artifact, Artifact | None, Artifact]:
    """One round, as the flow plays it: run, corpus, what people said, verdicts."""
    warehouse = warehouse_of(where)
    run = Run(id=start_run(warehouse, "distill", "tiny", "{}", {}), recipe="tiny", where=where)
    corpus = make_corpus(run.root, PASSAGES, QUERIES, LABELS)
    load_corpus(warehouse, run.id, "tiny", corpus.path, corpus.fingerprint)
    record(run, corpus, 0)
    vectors = bare(encode)(run, 1, corpus, models[0])
    miner = Miner(system="warm", vectors=vectors)
    miners = Miners.first(miner, miner)
    mined = bare(mine)(run, 1, corpus, miners, Mining(depth=8, last_rank=8))
    scored = bare(score)(run, 1, corpus, mined, models[1])
    said = bare(review)(run, 1, corpus)
    people = Reviewed(labels=said, scored=bare(score)(run, 1, corpus, said, models[1])) if said else None
    known = Evidence(corpus=corpus, vectors=vectors, mined=mined, scored=scored, reviewed=people)
    return run, corpus, said, bare(denoise)(run, 1, known, models[1], Denoising(policy="soften"))


def candidates(run: Run) -> list[tuple[str, str]]:
    rows = count(
        run,
        f"SELECT query_id, passage_id FROM scored_candidates WHERE run = {run.id} AND query_id = 'q0' "
        "AND verdict IN ('approved', 'negative') ORDER BY rank",
    )
    return [(str(query), str(passage)) for query, passage in rows]


def answer(where: Where, rows: list[tuple[str, str, str]]) -> None:
    path = where.home / "answers.csv"
    path.write_text("query_id,passage_id,relevant\n" + "".join(",".join(row) + "\n" for row in rows), "utf-8")
    import_answers(where, path, "ann")


def test_answers_change_verdicts_and_their_name_and_nothing_is_scored_again(
    tmp_path: Path, models: tuple[StudentRef, TeacherRef]
) -> None:
    """Pitfall 2: verdicts from before the review served as if they knew of it."""
    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1, batch_tokens=256)
    first, _, nothing, judged = play(where, models)
    assert nothing is None
    yes, no, *_ = candidates(first)
    scores = count(first, "SELECT count(*) FROM teacher_scores")
    answer(where, [(*yes, "yes"), (*no, "no")])
    second, _, said, rejudged = play(where, models)
    assert said is not None
    assert rejudged.fingerprint != judged.fingerprint
    assert count(second, "SELECT count(*) FROM teacher_scores") == scores
    mined = count(second, "SELECT count(DISTINCT artifact_id) FROM rounds WHERE step = 'mine'")
    assert mined == [(1,)], "mined before the review, and not again"
    found = count(
        second,
        f"SELECT passage_id, verdict, reason, weight FROM scored_candidates WHERE run = {second.id} "
        f"AND query_id = 'q0' AND passage_id IN ('{yes[1]}', '{no[1]}') ORDER BY rank",
    )
    assert found[0][:2] == (yes[1], "positive") and str(found[0][2]).startswith("reviewed, grade 1; the teacher gives")
    assert found[1] == (no[1], "negative", "reviewed not relevant (grade 0)", 1.0)
    assert play(where, models)[3] == rejudged, "unchanged answers change nothing"
    assert quality(warehouse_of(where)).is_empty()
    answer(where, [(*yes, "withdraw"), (*no, "withdraw")])
    assert play(where, models)[3] == judged, "without answers it is what it was"


def test_what_people_call_relevant_is_trained_on_and_never_pushed_away(
    tmp_path: Path, models: tuple[StudentRef, TeacherRef]
) -> None:
    """Pitfall 24: a positive of review as another row's in-batch negative for the same query."""
    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1, batch_tokens=256)
    first, *_ = play(where, models)
    yes = candidates(first)[-1]
    answer(where, [(*yes, "yes")])
    run, corpus, _, judged = play(where, models)
    student = Student.load(models[0].path, Runtime("cpu", "fp32", 1))
    lists = training_lists(corpus, pl.read_parquet(judged.file("verdicts.parquet")), student)
    texts = Texts.read(corpus)
    pair = pl.DataFrame({"query_hash": [text_hash(TRAIN[0])], "passage_hash": [text_hash(PASSAGES[int(yes[1][1:])])]})
    assert pair_keys(texts, pair)[0] in lists.known
    row = list(lists.queries).index(texts.query_rows(pair["query_hash"])[0])
    listed = slice(lists.starts[row], lists.starts[row + 1])
    at = list(lists.passages[listed]).index(texts.passage_rows(pair["passage_hash"])[0])
    assert lists.roles[listed][at] == Role.POSITIVE
    positives = count(run, f"SELECT count(*) FROM scored_positives WHERE run = {run.id} AND query_id = 'q0'")
    assert positives == [(2,)]
    (ids,) = count(run, f"SELECT passage_ids FROM training_lists WHERE run = {run.id} AND query_id = 'q0'")
    assert len(ids[0]) == len(set(ids[0])), "pitfall 16: the same passage twice in a list"
    assert ids[0].index(yes[1]) < 2, "positives come first"


def test_answers_to_queries_that_left_train_are_not_used(tmp_path: Path) -> None:
    """The corpus may move a query to test after it was reviewed; then its labels would train on the test."""
    corpus = make_corpus(tmp_path, PASSAGES, QUERIES, LABELS)
    train, test = TRAIN[0], next(query for query, split in QUERIES.items() if split == "test")
    pairs = [(train, PASSAGES[7]), (test, PASSAGES[7]), (train, "no such passage")]
    said = pl.DataFrame(
        [(text_hash(query), text_hash(passage), 1) for query, passage in pairs],
        schema={"query_hash": pl.Int64, "passage_hash": pl.Int64, "grade": pl.Int32},
        orient="row",
    )
    assert usable_labels(corpus, said)["query_hash"].to_list() == [text_hash(train)]
    assert review_artifact(tmp_path, corpus, said[1:]) is None
    made = review_artifact(tmp_path, corpus, said)
    assert made is not None and made.facts == {"reviewed": 1, "relevant": 1}
    other = review_artifact(tmp_path, corpus, said.with_columns(grade=pl.lit(0, pl.Int32)))
    assert other is not None and other.fingerprint != made.fingerprint


def test_a_copy_that_differs_in_case_and_spacing_has_its_originals_label() -> None:
    """Pitfall 16: the duplicate of a positive mined as a negative."""
    texts = ["Red  Apple", "red apple", "green apple"]
    passages = pl.DataFrame({"hash": [text_hash(text) for text in texts], "text": texts})
    labels = pl.DataFrame(
        {"query_hash": [1], "passage_hash": [text_hash("red apple")], "grade": [2]},
        schema={"query_hash": pl.Int64, "passage_hash": pl.Int64, "grade": pl.Int32},
    )
    spread = with_duplicates(labels, passages)
    assert dict(spread.select("passage_hash", "grade").rows()) == {text_hash(text): 2 for text in texts[:2]}


def test_the_summary_says_in_one_line_how_far_the_teacher_agrees(
    tmp_path: Path, models: tuple[StudentRef, TeacherRef]
) -> None:
    assert people_notes(None) == []
    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1, batch_tokens=256)
    run, *_ = play(where, models)
    assert people_notes(agreement(warehouse_of(where), run.id)) == []
    answer(where, [(*candidates(run)[0], "yes"), (*candidates(run)[1], "no")])
    run, *_ = play(where, models)
    (line,) = people_notes(agreement(warehouse_of(where), run.id))
    assert line.startswith("Reviewed: of 2 candidates that people judged, the teacher agrees on ")
    assert "warm doesn't" in line
