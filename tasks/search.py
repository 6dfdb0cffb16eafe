"""What each system finds for a text: the base, the student in use, and the teacher re-ranking both."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tasks.artifacts import Artifact
from tasks.documents import Documents
from tasks.refs import StudentRef, TeacherRef
from tasks.score.stored import known_teacher
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.lookup import artifacts_of, find_model, last_completed, latest_run, settings_of

if TYPE_CHECKING:
    from models.runtime import Runtime


@dataclass(frozen=True)
class Searchable:
    """What a finished run left to search with.

    Attributes:
        run: Number of the run.
        corpus: Its ingest artifact.
        students: The base and the student in use; one where they are the same.
        teacher: Who judged; None where nothing was scored.
    """

    run: int
    corpus: Artifact
    students: tuple[StudentRef, ...]
    teacher: TeacherRef | None


def search(where: Where, text: str, k: int, recipe: str = "") -> pl.DataFrame:
    """Find the first k passages of a text by every system.

    The teacher re-ranks what the students found, by its raw logit alone.

    Args:
        where: The home folder and the machine.
        text: What to look for.
        k: Passages per system.
        recipe: Search with the last run of this recipe; empty takes the last run of all.

    Returns:
        `system, rank, id, title, text, score`; score is a similarity, or the teacher's logit.

    Raises:
        ValueError: The text is empty.
        LookupError: No run has finished.
    """
    from models.runtime import configure

    if not text.strip():
        raise ValueError("there is no text to search for")
    found = searchable(where, recipe)
    runtime = configure(where.device, where.precision, where.threads)
    passages = pl.read_parquet(found.corpus.file("passages.parquet"))
    hits = [by_student(where, found.corpus, student, text, k) for student in found.students]
    if found.teacher is not None:
        union = pl.concat(hits)["row"].unique(maintain_order=True).to_list()
        shown = passages[union].with_columns(row=pl.Series(union))
        judged = by_teacher(found.teacher, runtime, text, shown, len(union))
        hits.append(_each_document_once(judged, passages["hash"], Documents.read(found.corpus), k))
    return describe(pl.concat(hits), passages, pl.read_parquet(found.corpus.file("passage_ids.parquet")))


def searchable(where: Where, recipe: str = "") -> Searchable:
    """Look up the last finished run's corpus, students and teacher.

    Raises:
        LookupError: No run has finished, or its student is not there any more.
    """
    warehouse = Warehouse(where.warehouse_path, where.lock_seconds)
    run = latest_run(warehouse, recipe)
    if run is None:
        of = f" of {recipe!r}" if recipe else ""
        raise LookupError(f"{where.warehouse_path}: no run{of} has finished yet; `remine run` comes first")
    number, name = run
    made = artifacts_of(warehouse, number)
    corpus = made.filter(pl.col("step") == "ingest").row(0, named=True)
    # A refresh since has newer data; base and teacher stand in the run that it refreshed.
    newest = last_completed(warehouse, name)
    if newest is not None and newest > number:
        corpus = artifacts_of(warehouse, newest).filter(pl.col("step") == "ingest").row(0, named=True)
    recipe_of_run = settings_of(warehouse, number)
    base = _base(warehouse, made, _trusts(recipe_of_run, "student"))
    current = _current(where, name)
    students = (base,) if base.fingerprint == current.fingerprint else (base, current)
    path = Path(corpus["path"])
    ingested = Artifact(step="ingest", fingerprint=corpus["fingerprint"], path=path)
    return Searchable(number, ingested, students, _teacher(warehouse, made, _trusts(recipe_of_run, "teacher")))


def by_student(where: Where, corpus: Artifact, student: StudentRef, text: str, k: int) -> pl.DataFrame:
    """The first k passages by a student's similarity, one of each document: `system, rank, row, score`."""
    import numpy as np

    from models.runtime import configure
    from models.student import Student
    from tasks.encode import encode_corpus
    from tasks.evaluate.ranking import as_ranking
    from tasks.mine.search import top_k

    vectors = np.load(encode_corpus(where, corpus, student).file("passages.npy"), mmap_mode="r")
    runtime = configure(where.device, where.precision, where.threads)
    model = Student.load(student.path, runtime, trust_remote_code=student.trust_remote_code)
    asked = model.encode_queries([text]).vectors
    hashes = pl.read_parquet(corpus.file("passages.parquet"), columns=["hash"])["hash"].to_numpy()

    def ask(queries: list[int], depth: int) -> pl.DataFrame:
        return as_ranking(np.asarray(queries), hashes, *top_k(asked, vectors, depth))

    found = Documents.read(corpus).retrieve(ask, [0], k)
    rows = np.searchsorted(hashes, found["passage_hash"].to_numpy())
    return _ranked(student.system, rows.tolist(), found["score"].to_list())


def by_teacher(teacher: TeacherRef, runtime: "Runtime", text: str, passages: pl.DataFrame, k: int) -> pl.DataFrame:
    """The first k of some passages (`row, text`) by the teacher's logit: `system, rank, row, score`."""
    import numpy as np

    from tasks.score.ensemble import load_teacher
    from warehouse.texts import text_hash

    queries = np.full(passages.height, text_hash(text), np.int64)
    pairs = [(text, passage) for passage in passages["text"]]
    logits = load_teacher(teacher, runtime).score(queries, pairs, None, lambda count: None).logits
    order = np.argsort(-logits, kind="stable")[:k]
    return _ranked("teacher", passages["row"].gather(order).to_list(), logits[order].tolist())


def _each_document_once(hits: pl.DataFrame, hashes: pl.Series, documents: Documents, k: int) -> pl.DataFrame:
    """Keep the first k of `system, rank, row, score`, of each document its best passage."""
    named = hits.with_columns(query_hash=pl.lit(0, pl.Int64), passage_hash=hashes.gather(hits["row"]))
    return documents.best(named, k).select(hits.columns)


def describe(hits: pl.DataFrame, passages: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    """Give rows of passages their first external id, title and text."""
    first = ids.unique("hash", keep="first", maintain_order=True)
    texts = passages.with_row_index("row").join(first, on="hash", how="left").rename({"external_id": "id"})
    joined = hits.join(texts.with_columns(pl.col("row").cast(pl.Int64)), on="row", how="left", maintain_order="left")
    return joined.select("system", "rank", "id", "title", "text", "score")


def _ranked(system: str, rows: Sequence[int], scores: Sequence[float]) -> pl.DataFrame:
    columns = {"system": [system] * len(rows), "rank": range(1, len(rows) + 1), "row": rows, "score": scores}
    schema = {"system": pl.String, "rank": pl.Int32, "row": pl.Int64, "score": pl.Float32}
    return pl.DataFrame({name: list(values) for name, values in columns.items()}, schema=schema)


def _base(warehouse: Warehouse, made: pl.DataFrame, trusted: bool) -> StudentRef:
    """The student as it came: the one whose vectors the system `base` was measured by."""
    rows = made.filter(pl.col("step") == "evaluate").rows(named=True)
    measured = next(row for row in rows if json.loads(row["settings"])["system"] == "base")
    vectors = json.loads(measured["inputs"])["vectors"]
    encoded = made.filter(pl.col("fingerprint") == vectors).row(0, named=True)
    model = find_model(warehouse, "student", json.loads(encoded["inputs"])["student"])
    return StudentRef(
        system="base", fingerprint=model["fingerprint"], path=Path(model["path"]), trust_remote_code=trusted
    )


def _current(where: Where, recipe: str) -> StudentRef:
    """The student that the recipe's users should serve."""
    path = where.artifacts_path / "current" / f"{recipe}.json"
    if not path.exists():
        raise LookupError(f"{path}: not there, so it is unknown which student is in use; run the recipe again")
    about: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return StudentRef(**{name: about[name] for name in StudentRef.model_fields if name in about})


def _trusts(recipe: dict[str, Any], part: str) -> bool:
    """Whether the run's recipe lets a model run the code that it brings."""
    return bool(recipe.get(part, {}).get("trust_remote_code", False))


def _teacher(warehouse: Warehouse, made: pl.DataFrame, trusted: bool) -> TeacherRef | None:
    """The teacher that the run scored with last."""
    scored = made.filter(pl.col("step") == "score")
    if scored.is_empty():
        return None
    return known_teacher(warehouse, json.loads(scored["inputs"][-1])["teacher"], trusted)
