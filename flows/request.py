"""What the flow `score` is asked for."""

import re
from pathlib import Path

from pydantic import Field, ValidationError

from flows.recipe import Named
from tasks.deliver.writing import check_out
from tasks.gather.settings import PairColumns, PairsFile
from tasks.teach.settings import TeacherSettings


class Request(Named):
    """Which pairs are scored, by whom, and where the scores go besides the warehouse."""

    pairs: PairsFile = Field(description="The file of pairs, and how it is read.")
    teacher: TeacherSettings = Field(description="Who scores: exactly one ready teacher.")
    out: Path | None = Field(None, description="File for the pairs with their scores: .parquet, .csv, .jsonl or .trec.")


def request_of(source: PairsFile, teacher: TeacherSettings, out: Path | None) -> Request:
    """A request whose files can be read and written, named by the file of pairs.

    Raises:
        FileNotFoundError: There are no such pairs.
        ValueError: A file's name does not say its format, or no teacher is named.
    """
    source.check()
    if out is not None:
        check_out(out, source.path)
    if len(teacher.model) != 1:
        raise ValueError(
            f"{len(teacher.model)} teachers are named; needed the hub id or the folder of one cross-encoder: the "
            "scales of an ensemble are settled by a run of its own"
        )
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", source.path.stem) or "pairs"
    return Request(name=name, pairs=source, teacher=teacher, out=out)


def columns_of(pairs: list[str]) -> PairColumns:
    """Read `ROLE=NAME` pairs.

    Raises:
        ValueError: There is no such role, or the names do not fit together.
    """
    named = {}
    for pair in pairs:
        role, equals, name = pair.partition("=")
        if not equals or not name or role not in PairColumns.model_fields:
            raise ValueError(
                f"--column {pair!r}: needs ROLE=NAME with one of {', '.join(PairColumns.model_fields)}, "
                "for example --column query=question"
            )
        named[role] = name
    try:
        return PairColumns(**named)
    except ValidationError as error:
        raise ValueError(f"--column: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from error
