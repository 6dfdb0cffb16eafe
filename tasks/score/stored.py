"""What is on disk and not in the warehouse: after a kill, or where the warehouse was deleted or restored."""

import json
import logging
import tempfile
from pathlib import Path

import polars as pl

from tasks.artifacts import Artifact
from tasks.record import warehouse_of
from tasks.refs import Member, Run, TeacherRef
from tasks.score.describe import describe
from tasks.score.shards import Shards, read_where
from warehouse.connect import Warehouse
from warehouse.ledger import loaded_names
from warehouse.load import load_scores, register_model
from warehouse.lookup import find_model, knows_model
from warehouse.queries import pending_pairs

log = logging.getLogger("remine.score")


def register(run: Run, teacher: TeacherRef) -> int:
    """Enter the teacher into the table `models`; returns its key.

    The a and b that a run fitted stay until another fits them anew; those of a teacher not yet calibrated say nothing.
    """
    warehouse, facts = warehouse_of(run.where), describe(teacher)
    if not teacher.calibrated and knows_model(warehouse, "teacher", teacher.fingerprint):
        facts = {name: value for name, value in facts.items() if name not in ("a", "b")}
    return register_model(warehouse, "teacher", teacher.name, teacher.fingerprint, facts)


def known_teacher(warehouse: Warehouse, fingerprint: str, trust_remote_code: bool) -> TeacherRef:
    """A teacher of the table `models`, with the members of an ensemble.

    Raises:
        LookupError: The warehouse does not know it.
    """
    found = find_model(warehouse, "teacher", fingerprint)
    path = Path(found["path"])
    about = path / "teacher.json"
    told = json.loads(about.read_text("utf-8")).get("members", []) if about.exists() else []
    members = tuple(
        Member(
            teacher=known_teacher(warehouse, each["fingerprint"], trust_remote_code),
            mean=each["mean"],
            deviation=each["deviation"],
        )
        for each in told
    )
    return TeacherRef(
        fingerprint=fingerprint,
        path=path,
        name=found["name"],
        max_length=found["max_length"] or 0,
        trust_remote_code=trust_remote_code,
        members=members,
    )


def restore_shards(run: Run, corpus: Artifact, shards: Shards) -> int:
    """Load the teacher's shard files that the ledger doesn't know, as far as their texts are in the corpus.

    Scores of texts that only another corpus has stay on disk until that corpus is scored again.

    Returns:
        Files that were loaded.
    """
    warehouse = warehouse_of(run.where)
    files = shards.files()
    if not files:
        return 0
    known = loaded_names(warehouse, "teacher_scores")
    unknown = [path for path in files if shards.name(path) not in known and _part(shards, path, corpus) not in known]
    loaded = [path for path in unknown if _restore(run, corpus, shards, path)]
    if loaded:
        log.info("loaded %d shards that the warehouse didn't know", len(loaded))
    return len(loaded)


def restore_artifact(run: Run, teacher: str, artifact: Artifact, pairs: Path) -> None:
    """Load a finished artifact's scores where the warehouse lacks them, so that nothing is computed twice."""
    warehouse = warehouse_of(run.where)
    if not pending_pairs(warehouse, teacher, pairs).height:
        return
    path = artifact.file("scores.parquet")
    load_scores(warehouse, run.id, teacher, path, f"{artifact.fingerprint}/{path.name}", _unknown_where(artifact))


def _restore(run: Run, corpus: Artifact, shards: Shards, path: Path) -> bool:
    scores = pl.read_parquet(path)
    fitting = scores
    for name, column in (("queries", "query_hash"), ("passages", "passage_hash")):
        there = pl.read_parquet(corpus.file(f"{name}.parquet"), columns=["hash"])
        fitting = fitting.join(there, left_on=column, right_on="hash", how="semi")
    if not fitting.height:
        return False
    warehouse, teacher, where = warehouse_of(run.where), shards.teacher, read_where(path)
    if fitting.height == scores.height:
        load_scores(warehouse, run.id, teacher, path, shards.name(path), where)
        return True
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / path.name
        fitting.write_parquet(part)
        load_scores(warehouse, run.id, teacher, part, _part(shards, path, corpus), where)
    return True


def _part(shards: Shards, path: Path, corpus: Artifact) -> str:
    """The ledger's name for that part of a shard which one corpus has the texts of."""
    return f"{shards.name(path)}#{corpus.fingerprint[:16]}"


def _unknown_where(artifact: Artifact) -> dict[str, object]:
    """Where an artifact's scores were computed, as far as it tells."""
    about = artifact.about()
    found = about["facts"]["precision"]
    return {
        "precision": found[0] if len(found) == 1 else None,
        "device": None,
        "versions": about["versions"],
        "seconds": about["facts"]["seconds"],
    }
