"""encode → mine → score → denoise, one after the other into a real warehouse."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tiny import sentences
from tiny_corpus import make_corpus

from tasks.artifacts import Artifact
from tasks.denoise.evidence import Evidence
from tasks.denoise.settings import Denoising
from tasks.denoise.task import denoise
from tasks.encode import encode
from tasks.mine.miners import Miner, Miners
from tasks.mine.settings import Mining
from tasks.mine.task import mine
from tasks.record import record, warehouse_of
from tasks.refs import Run, StudentRef, TeacherRef
from tasks.score.task import score
from tasks.where import Where
from warehouse.load import load_corpus, start_run

PASSAGES = sentences(25, seed=4, longest=12)
QUERIES = {text: split for text, split in zip(sentences(6, seed=5), ["train"] * 4 + ["dev", "test"], strict=True)}
LABELS = [(query, PASSAGES[number], 1) for number, query in enumerate(QUERIES)]


def bare(task: Any) -> Callable[..., Artifact]:
    """The function inside a Prefect task, so that no server is needed."""
    function: Callable[..., Artifact] = task.fn
    return function


def run_once(home: Path, student: StudentRef, teacher: TeacherRef) -> tuple[Run, Artifact, Artifact]:
    where = Where(home=home, device="cpu", precision="fp32", threads=1, batch_tokens=256)
    warehouse = warehouse_of(where)
    run = Run(id=start_run(warehouse, "distill", "tiny", "{}", {}), recipe="tiny", where=where)
    corpus = make_corpus(run.root, PASSAGES, QUERIES, LABELS)
    load_corpus(warehouse, run.id, "tiny", corpus.path, corpus.fingerprint)
    record(run, corpus, 0)
    vectors = bare(encode)(run, 1, corpus, student)
    miner = Miner(system="warm", vectors=vectors)
    miners = Miners.first(miner, miner)
    mined = bare(mine)(run, 1, corpus, miners, Mining(depth=8, last_rank=8))
    scored = bare(score)(run, 1, corpus, mined, teacher)
    known = Evidence(corpus=corpus, vectors=vectors, mined=mined, scored=scored)
    return run, mined, bare(denoise)(run, 1, known, teacher, Denoising(policy="soften"))


def count(run: Run, sql: str) -> list[tuple[Any, ...]]:
    with warehouse_of(run.where).read() as connection:
        return connection.execute(sql).fetchall()


def test_a_round_fills_the_warehouse_and_a_second_run_adds_nothing(
    tmp_path: Path, tiny_student: Path, tiny_teacher: Path
) -> None:
    """Pitfall 4: facts are loaded once, however often the steps are run."""
    student = StudentRef(system="base", fingerprint="student-one", path=tiny_student)
    teacher = TeacherRef(fingerprint="teacher-one", path=tiny_teacher, name="tiny")
    run, mined, judged = run_once(tmp_path, student, teacher)
    assert count(run, "SELECT step FROM rounds WHERE round = 1 ORDER BY step") == [
        ("denoise",), ("encode",), ("mine",), ("score",),
    ]  # fmt: skip
    rows = {
        table: count(run, f"SELECT count(*) FROM {table}")[0][0]
        for table in ("candidates", "verdicts", "teacher_scores")
    }
    assert rows == {"candidates": 32, "verdicts": 36, "teacher_scores": 36}
    seen = count(run, "SELECT count(*), count(logit), count(verdict), count(DISTINCT rank) FROM scored_candidates")
    assert seen == [(32, 32, 32, 8)]
    assert count(run, "SELECT name, a, b FROM models WHERE role = 'teacher'") == [("tiny", 1.0, 0.0)]
    assert sum(judged.facts["verdicts"].values()) == 36
    again, mined_again, judged_again = run_once(tmp_path, student, teacher)
    assert (mined_again, judged_again) == (mined, judged)
    for table, number in rows.items():
        assert count(again, f"SELECT count(*) FROM {table}") == [(number,)]
    assert count(again, "SELECT name FROM data_quality WHERE problems > 0") == []
