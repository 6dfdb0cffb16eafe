"""A student that compares raw dot products, through every step that compares: mining, training, encoding, export."""

from pathlib import Path

import numpy as np
import polars as pl
from sentence_transformers import SentenceTransformer
from test_round_steps import LABELS, PASSAGES, QUERIES, bare, count, run_once
from tiny_corpus import make_corpus

from tasks.baseline.settings import StudentSettings
from tasks.baseline.systems import base_student
from tasks.encode import encode
from tasks.export.folder import save_student
from tasks.refs import TeacherRef
from tasks.train.lesson import Lesson
from tasks.train.rounds import train_round
from tasks.train.settings import Objective, Training
from tasks.train.training import student_of
from tasks.where import Where
from warehouse.texts import text_hash


def test_raw_dot_products_are_mined_trained_encoded_and_exported(
    tmp_path: Path, tiny_student: Path, tiny_teacher: Path
) -> None:
    """Pitfall 12: one step that took unit vectors for granted would mine, or serve, by another order."""
    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1)
    base = base_student(where, StudentSettings(model=str(tiny_student), similarity="dot"))
    run, mined, judged = run_once(tmp_path, base, TeacherRef(fingerprint="one", path=tiny_teacher, name="tiny"))
    corpus = make_corpus(run.root, PASSAGES, QUERIES, LABELS)
    passages, queries = list(PASSAGES), list(QUERIES)

    model = SentenceTransformer(str(base.path), device="cpu")
    raw = model.encode_query(queries) @ model.encode_document(passages).T
    places = [{text_hash(text): place for place, text in enumerate(texts)} for texts in (queries, passages)]
    found = pl.read_parquet(mined.file("candidates.parquet"))
    rows, columns = (
        [place[each] for each in found[name]]
        for place, name in zip(places, ("query_hash", "passage_hash"), strict=True)
    )
    assert found.height == 32 and found["student_score"].max() > 10  # type: ignore[operator]
    np.testing.assert_allclose(found["student_score"].to_numpy(), raw[rows, columns], rtol=1e-4)
    best = [raw[row].argsort()[::-1][:9] for row in set(rows)]  # eight and the positive that is left out
    assert {(row, column) for row, column in zip(rows, columns, strict=True)} <= {
        (row, int(column)) for row, held in zip(set(rows), best, strict=True) for column in held
    }

    lesson = Lesson(corpus=corpus, start=base, judged=judged)
    settings = Training(steps=3, batch=4, list_length=4, lr=1e-3, objectives=[Objective(name="margin_mse", tau=4.0)])
    student = student_of(train_round(where, lesson, settings, 0, "nDCG@10"), "round-1", base)
    vectors = bare(encode)(run, 1, lesson.corpus, student)
    held = np.load(vectors.file("passages.npy"))
    assert vectors.facts["similarity"] == "dot" and np.linalg.norm(held, axis=1).min() > 1.5
    assert save_student(student, tmp_path / "exported", passages, queries) < 1e-4
    exported = SentenceTransformer(str(tmp_path / "exported"), device="cpu")
    assert exported.similarity_fn_name == "dot"
    in_order = sorted(passages, key=text_hash)
    np.testing.assert_allclose(exported.encode_document(in_order), held, atol=1e-4)
    assert count(run, "SELECT count(*) FROM candidates WHERE student_score > 1") == [(32,)]
