"""The exported folder: written whole, checked against the student, never over somebody else's files."""

import json
import os
import shutil
from pathlib import Path

import numpy as np

from tasks.artifacts import Artifact, sync
from tasks.ingest.wording import counted
from tasks.refs import StudentRef

MARKER = "remine.json"
TOLERANCE = 1e-5
SAMPLED = 16  # texts of each kind, and as many of the longest


def save_student(student: StudentRef, folder: Path, passages: list[str], queries: list[str]) -> float:
    """Save a student as a sentence-transformers folder and check that it gives the same vectors.

    Args:
        student: Whom to save.
        folder: Where to.
        passages: Passages to compare by.
        queries: Queries to compare by.

    Returns:
        The largest difference of two components, in float32.

    Raises:
        ValueError: It is more than 1e-5.
    """
    from sentence_transformers import SentenceTransformer

    from models.runtime import configure, quiet
    from models.student import Student

    trusted = student.trust_remote_code
    ours = Student.load(student.path, configure("cpu", "fp32"), trust_remote_code=trusted)
    ours.save(folder)
    with quiet():
        theirs = SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=trusted)
    pairs = [
        (ours.encode_passages(passages).vectors, theirs.encode_document(passages, show_progress_bar=False)),
        (ours.encode_queries(queries).vectors, theirs.encode_query(queries, show_progress_bar=False)),
    ]
    worst = max(float(np.abs(a - b).max()) for a, b in pairs)
    if not worst <= TOLERANCE:
        raise ValueError(
            f"{student.path}: loaded by sentence-transformers, the exported {student.system} gives vectors that differ "
            f"by {worst:.2e} from the student's (at most {TOLERANCE:.0e} is rounding); whoever serves it would get "
            "another model than the one that was measured"
        )
    return worst


def sample(texts: list[str]) -> list[str]:
    """Texts spread over a list, and its longest ones, where cutting shows."""
    spread = [texts[number * len(texts) // SAMPLED] for number in range(min(SAMPLED, len(texts)))]
    longest = sorted(texts, key=lambda text: (-len(text), text))[:SAMPLED]
    return list(dict.fromkeys(spread + longest))


def copy_to(artifact: Artifact, folder: Path) -> Path:
    """Copy an export to a folder of the user's choice, whole or not at all.

    A folder that an earlier export wrote is replaced; anything else is left alone.

    Args:
        artifact: What `export` made.
        folder: Where the model goes; made if it is not there.

    Raises:
        FileExistsError: There is something that no export wrote.
    """
    target = folder.resolve()
    refuse_foreign(target)
    model = artifact.file("model")
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.tmp-{os.getpid()}")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        shutil.copytree(model, beside)
        files = sorted(str(path.relative_to(beside)) for path in beside.rglob("*") if path.is_file())
        marker = {"made_by": "remine", "artifact": artifact.fingerprint, **artifact.facts, "files": files}
        (beside / MARKER).write_text(json.dumps(marker, indent=1, ensure_ascii=False) + "\n", "utf-8")
        for path in (beside / name for name in [*files, MARKER]):
            sync(path)
        _swap(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return target


def _swap(beside: Path, target: Path) -> None:
    """Put a finished folder in the place of the old one, which comes back if that fails."""
    aside = target.with_name(f".{target.name}.old-{os.getpid()}")
    if target.exists():
        target.rename(aside)
    try:
        beside.rename(target)
    except OSError:
        if aside.exists():
            aside.rename(target)
        raise
    sync(target.parent)
    shutil.rmtree(aside, ignore_errors=True)


def refuse_foreign(target: Path) -> None:
    """Raise where a folder holds files that no export wrote."""
    if not target.exists():
        return
    if not target.is_dir():
        raise FileExistsError(f"{target} is a file; an export needs a folder of its own")
    found = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    marker = target / MARKER
    known = set(json.loads(marker.read_text("utf-8"))["files"]) | {MARKER} if marker.is_file() else set()
    foreign = sorted(found - known)
    if foreign:
        raise FileExistsError(
            f"{target} holds {counted(len(foreign), 'file')} that no export of remine wrote (such as {foreign[0]}), "
            "which would be deleted. Choose another folder, or move them away"
        )
