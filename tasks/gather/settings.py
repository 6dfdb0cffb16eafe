"""Which pairs to score: a file, which of its columns is which, and the corpus that its ids belong to."""

from pathlib import Path

from pydantic import Field

from tasks.ingest.settings import ending
from tasks.settings import Roles, Settings

SUFFIXES = (".jsonl", ".csv", ".tsv", ".parquet", ".trec", ".run")


class PairColumns(Roles):
    """Names of the columns; a text where there is one, else an id."""

    query: str = Field("query", min_length=1, description="Column with the query's text.")
    passage: str = Field("passage", min_length=1, description="Column with the passage's text.")
    title: str = Field("title", min_length=1, description="Column with the passage's title, beside its text.")
    query_id: str = Field("query_id", min_length=1, description="Column with the query's id.")
    passage_id: str = Field("passage_id", min_length=1, description="Column with the passage's id.")


class PairsFile(Settings):
    """Pairs of a query and a passage, one a row."""

    path: Path = Field(description="JSON lines, CSV, TSV or Parquet with named columns, or a TREC run.")
    corpus: str = Field("", description="Corpus that ids belong to; needed where the warehouse has several.")
    columns: PairColumns = Field(PairColumns(), description="Which column is which.")

    def check(self) -> None:
        """Refuse a path that cannot be read, before anything is started.

        Raises:
            OSError: There is no such file, or it is a folder.
            ValueError: Its name does not say what it is.
        """
        if self.path.is_dir():
            raise IsADirectoryError(f"{self.path} is a folder; needed one file of pairs as {', '.join(SUFFIXES)}")
        if not self.path.is_file():
            raise FileNotFoundError(f"{self.path}: no such file; needed pairs as {', '.join(SUFFIXES)}")
        if ending(self.path) not in SUFFIXES:
            raise ValueError(f"{self.path}: cannot be read as pairs; needed one of {', '.join(SUFFIXES)}")
