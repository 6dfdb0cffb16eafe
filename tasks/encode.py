"""The step `encode`: vectors of every passage and query by one student."""

import time
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.artifacts import Artifact, make_resumable
from tasks.encoding import BLOCK, Block, How, Reader, encode_block, read_block, tell_how
from tasks.known_vectors import Encoder, known_vectors
from tasks.progress import progress
from tasks.record import record
from tasks.refs import Run, StudentRef
from tasks.replacing import replacing
from tasks.runner import Runner, ask, open_runner
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
    vectors that they got then. What an interrupted call has written of it is not computed again.

    Args:
        where: Who computes, on which device, how exactly, and the folder of artifacts.
        corpus: passages and queries.
        student: Who encodes.

    Raises:
        ValueError: A vector holds numbers that aren't finite; the text is named.
    """

    def build(folder: Path, state: Path) -> Mapping[str, Any]:
        reader = Reader(where.worker, student.path, student.fingerprint, student.trust_remote_code)
        with open_runner(where) as runner:
            return _write(folder, runner, reader, corpus, state)

    inputs = {"corpus": corpus.fingerprint, "student": student.fingerprint}
    return make_resumable(where.artifacts_path, "encode", VERSION, {}, inputs, build)


def _write(folder: Path, runner: Runner, reader: Reader, corpus: Artifact, state: Path) -> dict[str, Any]:
    import numpy as np
    import polars as pl

    started = time.monotonic()
    how = ask(runner, reader, tell_how)
    encoder = Encoder(reader.where.artifacts_path, reader.fingerprint, VERSION, how.device, how.precision)
    facts: dict[str, Any] = {"device": how.device, "precision": how.precision, "similarity": how.similarity}
    tokens, truncated = 0, {}
    for kind in ("passages", "queries"):
        hashes = pl.read_parquet(corpus.file(f"{kind}.parquet"), columns=["hash"])["hash"]
        known = known_vectors(encoder, kind, hashes)
        vectors = np.empty((len(hashes), how.dimension), np.float32) if known.vectors is None else known.vectors
        rows = np.flatnonzero(~known.rows)
        truncated[kind] = round(known.truncated)
        for block in _blocks(runner, reader, kind, corpus.file(f"{kind}.parquet"), _kept(state, kind, rows, how)):
            encoded = read_block(block)
            vectors[rows[block.start : block.stop]] = encoded.vectors
            tokens, truncated[kind] = tokens + encoded.n_tokens, truncated[kind] + encoded.truncated
        np.save(folder / f"{kind}.npy", np.ascontiguousarray(vectors, np.float32))
        facts |= {kind: len(hashes), f"{kind}_encoded": len(rows)}
    shares = {"truncated": truncated, "truncated_share": truncated["passages"] / max(facts["passages"], 1)}
    return {**facts, **shares, "tokens": tokens, "seconds": round(time.monotonic() - started, 3)}


def _blocks(runner: Runner, reader: Reader, kind: str, texts: Path, rows: Path) -> list[Block]:
    """Cut the rows of a file into blocks, and see to it that each is encoded.

    Raises:
        ValueError: A vector holds numbers that aren't finite.
    """
    import numpy as np

    count = len(np.load(rows, mmap_mode="r"))
    blocks = [Block(reader, kind, texts, rows, start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)]
    left = [block for block in blocks if not block.path.exists()]
    with progress(f"encode {kind}", sum(block.size for block in left), kind) as tick:
        for done in runner.map(reader, encode_block, left, tick):
            done.raise_failure()
    return blocks


def _kept(state: Path, kind: str, rows: "npt.NDArray[np.int64]", how: How) -> Path:
    """Write down which rows are encoded, in a folder whose name tells them and how it is done."""
    import numpy as np

    about = f"{kind}-{blake2b(rows.tobytes(), digest_size=8).hexdigest()}-{how.device}-{how.precision}"
    with replacing(state / about / "rows.npy") as beside, beside.open("wb") as file:
        np.save(file, rows)
    return state / about / "rows.npy"
