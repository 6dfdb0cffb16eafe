"""The systems there are before anything is trained: chance, BM25, and the student as it comes."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.baseline.before import before_tuning
from tasks.baseline.bm25 import search_bm25
from tasks.baseline.settings import StudentSettings
from tasks.evaluate.chance import chance_queries
from tasks.evaluate.own import ranked_without_own
from tasks.evaluate.tables import read_judged, write_measured, write_ranked
from tasks.fusing import ORDER, SMOOTHING, fuse
from tasks.progress import progress
from tasks.refs import StudentRef
from tasks.where import Where

if TYPE_CHECKING:
    from models.runtime import Runtime
    from models.student import Student

VERSION = 2
TOLERANCE = 1e-5
QUERIES = "query_metrics.parquet"
KEYS = ("query_hash", "passage_hash")


def evaluate_chance(root: Path, corpus: Artifact, depth: int) -> Artifact:
    """Write metrics and query_metrics of a random ranking (its expected values)."""

    def build(folder: Path) -> Mapping[str, Any]:
        judged = read_judged(corpus)
        values = {split: chance_queries(frame, judged.passages, depth) for split, frame in judged.splits.items()}
        return write_measured(folder, "chance", judged, values, depth)

    named = {"system": "chance", "depth": depth}
    return make_artifact(root, "baseline", VERSION, named, {"corpus": corpus.fingerprint}, build)


def evaluate_bm25(root: Path, corpus: Artifact, depth: int, ignore_identical_ids: bool = False) -> Artifact:
    """Write ranking, metrics and query_metrics of BM25."""

    def build(folder: Path) -> Mapping[str, Any]:
        judged = read_judged(corpus)
        passages = pl.read_parquet(corpus.file("passages.parquet"))
        queries = pl.read_parquet(corpus.file("queries.parquet")).filter(pl.col("hash").is_in(judged.queries))
        with progress("search with BM25", queries.height, "queries") as tick:
            rank = partial(search_bm25, passages, queries, tick=tick, documents=judged.documents)
            ranking = ranked_without_own(corpus, rank, depth) if ignore_identical_ids else rank(depth)
        return write_ranked(folder, "bm25", judged, ranking, depth)

    named = {"system": "bm25", "depth": depth, **({"ignore_identical_ids": True} if ignore_identical_ids else {})}
    return make_artifact(root, "baseline", VERSION, named, {"corpus": corpus.fingerprint}, build)


def evaluate_hybrid(root: Path, corpus: Artifact, words: Artifact, vectors: Artifact, depth: int) -> Artifact:
    """Write ranking, metrics and query_metrics of BM25 and the base fused by reciprocal ranks.

    What it says before anything is trained, `warnings`, is among the facts.

    Args:
        root: Folder of all artifacts.
        corpus: What both were measured on.
        words: The evaluation of BM25.
        vectors: The evaluation of the base.
        depth: Passages kept per query.
    """

    def build(folder: Path) -> Mapping[str, Any]:
        judged = read_judged(corpus)
        by_words, by_vectors = (pl.read_parquet(each.file("ranking.parquet")) for each in (words, vectors))
        ranking = fused(judged.documents.alike(by_words, by_vectors), by_vectors, depth)
        facts = write_ranked(folder, "hybrid", judged, judged.documents.best(ranking, depth), depth)
        base, hybrid = (pl.read_parquet(path) for path in (vectors.file(QUERIES), folder / QUERIES))
        return {**facts, "warnings": before_tuning(corpus, base, hybrid) if "dev" in judged.splits else []}

    inputs = {"corpus": corpus.fingerprint, "bm25": words.fingerprint, "base": vectors.fingerprint}
    return make_artifact(root, "baseline", VERSION, {"system": "hybrid", "depth": depth}, inputs, build)


def fused(first: pl.DataFrame, second: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Fuse two rankings by reciprocal ranks; of equal scores, what the second ranks higher comes first.

    Args:
        first: `query_hash, passage_hash, rank, score`.
        second: The same of the other one.
        depth: Passages kept per query.

    Returns:
        `query_hash, passage_hash, rank, score`, by query, then by rank.
    """
    told = pl.col("rank").filter(pl.col(ORDER) == 1).first().alias("second")
    rankings = [each.select(*KEYS, "rank") for each in (first, second)]
    both = fuse(rankings, KEYS, SMOOTHING, depth, [told], ["second"])
    return both.select(*KEYS, "rank", pl.col("score").cast(pl.Float32))


def base_student(where: Where, settings: StudentSettings) -> StudentRef:
    """Find the student and name it by its fingerprint.

    Another maximum length, other prompts, fewer layers, random weights, another similarity or two towers make another
    student: it is saved as a folder of its own, so that every later step, and whoever loads the result, sees the same
    one.
    """
    from models.fingerprint import fingerprint_folder
    from models.locate import locate

    if settings.lora.rank:
        from models.lora import refuse_without_peft  # brings torch, which a run that finds everything does not need

        refuse_without_peft()
    path = locate(settings.model, settings.trust_remote_code)
    fingerprint = fingerprint_folder(path)
    if settings.differs:
        path = _changed(where, settings, path, fingerprint).file("model")
        fingerprint = fingerprint_folder(path)
    return StudentRef(
        system="base",
        fingerprint=fingerprint,
        path=path,
        trust_remote_code=settings.trust_remote_code,
        lora=settings.lora,
    )


def describe_student(path: Path) -> dict[str, Any]:
    """What the table `models` says of a student, read from its folder: similarity, length, prompts."""
    from models.folder import parts, read_json

    model = read_json(path / "config_sentence_transformers.json")
    modules = parts(path)
    first = next((part for part in modules if part.route == "document"), modules[0]).folder  # of a Router: passages'
    lengths = (
        read_json(first / "sentence_bert_config.json").get("max_seq_length"),
        read_json(first / "tokenizer_config.json").get("model_max_length"),
        read_json(first / "config.json").get("max_position_embeddings"),
    )
    return {
        "similarity": model.get("similarity_fn_name") or "cosine",
        "max_length": next((length for length in lengths if length), None),
        "prompts": model.get("prompts") or {},
        "path": str(path),
    }


def load_base(settings: StudentSettings, path: Path, runtime: "Runtime") -> "Student":
    """Load the student with what the recipe changes about it."""
    from models.reshape import compare_by, cut_layers, part_towers, start_anew
    from models.student import Student

    prompts = cast(Mapping[str, str], settings.prompts)
    student = Student.load(path, runtime, settings.max_length, prompts, settings.trust_remote_code)
    if settings.layers:
        cut_layers(student, settings.layers)
    if settings.init == "random":
        start_anew(student, settings.seed)
    if settings.similarity != "own":
        student = compare_by(student, settings.similarity)
    return part_towers(student) if settings.towers == 2 else student


def _changed(where: Where, settings: StudentSettings, path: Path, fingerprint: str) -> Artifact:
    """Save the student with the recipe's changes."""
    from models.runtime import configure

    def build(folder: Path) -> Mapping[str, Any]:
        student = load_base(settings, path, configure(where.device, where.precision, where.threads))
        student.save(folder / "model")
        _refuse_other_vectors(student, folder / "model", settings)
        return {"model": settings.model, "max_length": student.max_length}

    changes = settings.model_dump(mode="json", exclude={"model", "trust_remote_code", "lora"})
    return make_artifact(where.artifacts_path, "baseline", VERSION, changes, {"student": fingerprint}, build)


def _refuse_other_vectors(student: "Student", saved: Path, settings: StudentSettings) -> None:
    """Check that the saved folder gives the vectors of the student that was saved."""
    import numpy as np

    from models.student import Student

    again = Student.load(saved, student.runtime, trust_remote_code=settings.trust_remote_code)
    texts = ["How do red cats sleep?", "A cat (felis catus), asleep."]
    pairs = [(one.encode_queries(texts), one.encode_passages(texts)) for one in (student, again)]
    apart = max(float(np.abs(one.vectors - other.vectors).max()) for one, other in zip(*pairs, strict=True))
    if not apart <= TOLERANCE:
        raise ValueError(
            f"{settings.model}: changed as the recipe says (layers {settings.layers}, init {settings.init}, similarity "
            f"{settings.similarity}, towers {settings.towers}), saved and loaded again, it gives vectors that differ "
            f"by {apart:.2e}; every step would train another student"
        )
