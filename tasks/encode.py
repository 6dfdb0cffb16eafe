"""The step `encode`: vectors of every passage and query by one student."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.artifacts import Artifact, make_artifact
from tasks.known_vectors import Encoder, known_vectors
from tasks.progress import progress
from tasks.record import record
from tasks.refs import Run, StudentRef
from tasks.step import step
from tasks.where import Where

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

VERSION = 1


@step("encode", "encode {student.system}")
def encode(run: Run, number: int, corpus: Artifact, student: StudentRef) -> Artifact:
    """Encode the corpus with a student."""
    artifact = encode_corpus(run.where, corpus, student)
    record(run, artifact, number)
    return artifact


def encode_corpus(where: Where, corpus: Artifact, student: StudentRef) -> Artifact:
    """Write passages.npy (P, d) and queries.npy (Q, d), float32, row-aligned with the corpus's files.

    The vectors are what the student's similarity needs: of unit length where it is the cosine, so an inner
    product is the similarity either way. Texts that this student encoded in an earlier state of the corpus keep the
    vectors that they got then.

    Args:
        where: Device, precision, batch size and the folder of artifacts.
        corpus: passages and queries.
        student: Who encodes.

    Raises:
        ValueError: A vector holds numbers that aren't finite; the text is named.
    """

    def build(folder: Path) -> Mapping[str, Any]:
        return _write(folder, where, corpus, student)

    inputs = {"corpus": corpus.fingerprint, "student": student.fingerprint}
    return make_artifact(where.artifacts_path, "encode", VERSION, {}, inputs, build)


def _write(folder: Path, where: Where, corpus: Artifact, student: StudentRef) -> dict[str, Any]:
    import numpy as np
    import polars as pl

    from models.runtime import configure
    from models.student import Student

    runtime = configure(where.device, where.precision, where.threads)
    model = Student.load(student.path, runtime, trust_remote_code=student.trust_remote_code)
    encoder = Encoder(where.artifacts_path, student.fingerprint, VERSION, runtime.device, runtime.precision)
    facts: dict[str, Any] = {"device": runtime.device, "precision": runtime.precision, "similarity": model.similarity}
    tokens, truncated, started = 0, {}, time.monotonic()
    for name, make in (("passages", model.encode_passages), ("queries", model.encode_queries)):
        rows = pl.read_parquet(corpus.file(f"{name}.parquet"), columns=["hash", "text"])
        known = known_vectors(encoder, name, rows["hash"])
        texts = rows["text"].filter(pl.Series(~known.rows, dtype=pl.Boolean)).to_list()
        vectors = known.vectors
        truncated[name] = round(known.truncated)
        if texts or vectors is None:
            with progress(f"encode {name}", len(texts), name) as tick:
                encoded = make(texts, where.batch_tokens, tick)
            _check_finite(name, texts, encoded.vectors, student)
            vectors = encoded.vectors if vectors is None else vectors
            vectors[~known.rows] = encoded.vectors
            tokens += encoded.n_tokens
            truncated[name] += encoded.truncated
        np.save(folder / f"{name}.npy", np.ascontiguousarray(vectors, np.float32))
        facts |= {name: len(rows), f"{name}_encoded": len(texts)}
    shares = {"truncated": truncated, "truncated_share": truncated["passages"] / max(facts["passages"], 1)}
    return {**facts, **shares, "tokens": tokens, "seconds": round(time.monotonic() - started, 3)}


def _check_finite(name: str, texts: list[str], vectors: "npt.NDArray[np.float32]", student: StudentRef) -> None:
    import numpy as np

    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{student.path}: the vectors of {len(bad)} {name} hold numbers that aren't finite, first of "
            f"{texts[int(bad[0])][:80]!r}; a search would leave them out without a word"
        )
