"""Which pairs to score: a file, which of its columns is which, and the corpus that its ids belong to."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from tasks.settings import Settings

SUFFIXES = (".jsonl", ".csv", ".tsv", ".parquet", ".trec", ".run")


class PairColumns(Settings):
    """Names of the columns; a text where there is one, else an id."""

    query: str = Field("query", min_length=1, description="Column with the query's text.")
    passage: str = Field("passage", min_length=1, description="Column with the passage's text.")
    title: str = Field("title", min_length=1, description="Column with the passage's title, beside its text.")
    query_id: str = Field("query_id", min_length=1, description="Column with the query's id.")
    passage_id: str = Field("passage_id", min_length=1, description="Column with the passage's id.")

    @model_validator(mode="after")
    def _each_column_once(self) -> Self:
        roles: dict[str, str] = {}
        for role, name in self.model_dump().items():
            if name in roles:
                raise ValueError(f"column {name!r} is named as {roles[name]} and as {role}; it can only be one of them")
            roles[name] = role
        return self


class PairsFile(Settings):
    """Pairs of a query and a passage, one a row."""

    path: Path = Field(description="JSON lines, CSV, TSV or Parquet with named columns, or a TREC run.")
    corpus: str = Field("", description="Corpus that ids belong to; needed where the warehouse has several.")
    columns: PairColumns = Field(PairColumns(), description="Which column is which.")

    def check(self) -> None:
        """Refuse a path that cannot be read, before anything is started.

        Raises:
            FileNotFoundError: There is no such file.
            ValueError: Its name does not say what it is.
        """
        if not self.path.is_file():
            raise FileNotFoundError(f"{self.path}: no such file; needed pairs as {', '.join(SUFFIXES)}")
        if self.path.suffix not in SUFFIXES:
            raise ValueError(f"{self.path}: cannot be read as pairs; needed one of {', '.join(SUFFIXES)}")
