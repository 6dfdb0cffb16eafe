"""Blocks of texts: what one process encodes at a time, and writes down."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tasks.progress import Tick
from tasks.replacing import replacing
from tasks.runner import Question
from tasks.where import Where

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from models.student import Student

# Texts that a student reads at a time: its batches never cross a block, so cutting there changes no vector.
BLOCK = 16384


@dataclass(frozen=True)
class Reader:
    """A student that encodes.

    Attributes:
        where: Device, precision, threads and batch size.
        path: Its folder.
        fingerprint: What it is; tells apart two students that lay at one path.
        trust_remote_code: Run code that comes with it.
    """

    where: Where
    path: Path
    fingerprint: str
    trust_remote_code: bool

    def open(self) -> "Student":
        """Load it."""
        from models.runtime import configure
        from models.student import Student

        runtime = configure(self.where.device, self.where.precision, self.where.threads)
        return Student.load(self.path, runtime, trust_remote_code=self.trust_remote_code)


class How(NamedTuple):
    """How a process encodes."""

    device: str
    precision: str
    similarity: str
    dimension: int


def tell_how(student: "Student", question: Question, tick: Tick) -> How:
    """Say how this process encodes."""
    return How(student.runtime.device, student.runtime.precision, student.similarity, student.dimension)


@dataclass(frozen=True)
class Block:
    """Some texts of a corpus.

    Attributes:
        reader: Who encodes them.
        kind: passages or queries.
        texts: Their file in the corpus.
        rows: A file with the rows of all texts that are encoded, ascending.
        start: The first of this block's among those.
        stop: One after its last.
    """

    reader: Reader
    kind: str
    texts: Path
    rows: Path
    start: int
    stop: int

    @property
    def size(self) -> int:
        """How many texts."""
        return self.stop - self.start

    @property
    def path(self) -> Path:
        """Where its vectors are written to."""
        return self.rows.with_name(f"{self.start:012d}.npz")

    def read(self) -> list[str]:
        """The texts, and of the others as few as their order allows."""
        import numpy as np
        import polars as pl

        rows = np.load(self.rows, mmap_mode="r")[self.start : self.stop]
        first = int(rows[0])
        span = pl.scan_parquet(self.texts).select("text").slice(first, int(rows[-1]) - first + 1).collect()["text"]
        return span.gather(pl.Series(rows - first)).to_list()


class Vectors(NamedTuple):
    """What a block came to."""

    vectors: "npt.NDArray[np.float32]"
    n_tokens: int
    truncated: int


def encode_block(student: "Student", block: Block, tick: Tick) -> None:
    """Encode a block and write its file.

    Raises:
        ValueError: A vector holds numbers that aren't finite; the text is named.
    """
    import numpy as np

    texts = block.read()
    encode = student.encode_passages if block.kind == "passages" else student.encode_queries
    encoded = encode(texts, block.reader.where.batch_tokens, tick)
    _check_finite(block, texts, encoded.vectors)
    with replacing(block.path) as beside, beside.open("wb") as file:
        np.savez(file, vectors=encoded.vectors, n_tokens=encoded.n_tokens, truncated=encoded.truncated)


def read_block(block: Block) -> Vectors:
    """Read a block's file back."""
    import numpy as np

    with np.load(block.path) as file:
        return Vectors(file["vectors"], int(file["n_tokens"]), int(file["truncated"]))


def _check_finite(block: Block, texts: list[str], vectors: "npt.NDArray[np.float32]") -> None:
    import numpy as np

    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{block.reader.path}: the vectors of {len(bad)} {block.kind} hold numbers that aren't finite, first of "
            f"{texts[int(bad[0])][:80]!r}; a search would leave them out without a word"
        )
