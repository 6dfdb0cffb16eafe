"""The corpus that a plan is about: the artifact where it is there, else read and checked in memory."""

import io
import time
from dataclasses import dataclass
from typing import Self

import polars as pl

from tasks.artifacts import Artifact, NotMade, looking
from tasks.ingest.corpus import make_corpus, read_source
from tasks.ingest.settings import Source
from tasks.where import Where

TABLES = ("passages", "passage_ids", "queries", "query_ids", "labels")
MEASURED_ROWS = 20_000


@dataclass(frozen=True)
class Data:
    """A corpus, and what making it costs.

    Attributes:
        artifact: Its name.
        there: Whether it has been made.
        passages: `hash, text`, sorted by hash.
        queries: `hash, text, split`, sorted by hash.
        labels: `query_hash, passage_hash, grade, split`.
        seconds: How long reading and checking took.
        file_bytes: Size of the artifact's files; of those of a corpus that isn't made, about.
    """

    artifact: Artifact
    there: bool
    passages: pl.DataFrame
    queries: pl.DataFrame
    labels: pl.DataFrame
    seconds: float
    file_bytes: int

    @classmethod
    def read(cls, where: Where, source: Source) -> Self:
        """Read a source as ingest would, and write nothing.

        Raises:
            FileNotFoundError: The source or a file of it is not there.
            CorpusError: Ingest would refuse the data.
        """
        started = time.monotonic()
        try:
            with looking():
                artifact = make_corpus(where.artifacts_path, source)
        except NotMade as missing:
            artifact, corpus = missing.artifact, read_source(source)
            frames = {name: getattr(corpus, name) for name in TABLES}
        else:
            frames = {name: pl.read_parquet(artifact.file(f"{name}.parquet")) for name in TABLES}
        size = sum(parquet_bytes(frame) for frame in frames.values())
        main = (frames["passages"], frames["queries"], frames["labels"])
        there = (artifact.path / "artifact.json").exists()
        return cls(artifact, there, *main, time.monotonic() - started, size)

    @property
    def text_bytes(self) -> int:
        """UTF-8 bytes of all distinct texts."""
        return sum(int(frame["text"].str.len_bytes().sum()) for frame in (self.passages, self.queries))


def parquet_bytes(frame: pl.DataFrame) -> int:
    """How large a frame is as a Parquet file, by its first rows."""
    file = io.BytesIO()
    part = frame.head(MEASURED_ROWS)
    part.write_parquet(file, compression="zstd")
    return file.tell() * max(frame.height, 1) // max(part.height, 1)
