"""TREC files: the rankings of evaluated systems as runs, and the labels as qrels, by external ids."""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import polars as pl

from tasks.artifacts import Artifact
from tasks.evaluate.tables import read_judged
from tasks.replacing import write_whole


def write_trec(folder: Path, corpus: Artifact, evaluations: Iterable[Artifact]) -> list[Path]:
    """Write SYSTEM.trec for each evaluation that ranks passages, and qrels.SPLIT.trec; returns the files.

    Scores are counted down by rank, because tools order equal scores each in their own way: whoever measures these
    files measures the rankings that were measured here.

    Args:
        folder: Where the files go; made where it is not there.
        corpus: Whose ids; of a text with several ids the first.
        evaluations: What `evaluate` and `baseline` left.

    Raises:
        ValueError: An id holds a blank, which would make it two columns.
    """
    whole = read_judged(corpus)
    parts, queries = whole.documents.parts, _first_ids(corpus, "query", "external_id")
    passages = _first_ids(corpus, "passage", "external_id" if parts is None else "document")
    if parts is not None:
        passages = _documents(passages, parts)
    written = []
    for split, judged in whole.splits.items():
        rows = _named(judged, queries, passages).select("query", pl.lit("0").alias("zero"), "passage", "grade")
        written.append(_write(folder / f"qrels.{split}.trec", rows))
    for each in evaluations:
        system = str(each.facts["system"])
        ranking = whole.documents.ranked(pl.read_parquet(each.file("ranking.parquet")).sort("query_hash", "rank"))
        score = (pl.col("rank").max() + 1 - pl.col("rank")).alias("score")
        columns = (
            "query",
            pl.lit("Q0").alias("q0"),
            "passage",
            "rank",
            "score",
            pl.lit(_file_name(system)).alias("tag"),
        )
        rows = _named(ranking.with_columns(score), queries, passages).select(*columns)
        written.append(_write(folder / f"{_file_name(system)}.trec", rows))
    return written


def _first_ids(corpus: Artifact, kind: str, column: str) -> pl.DataFrame:
    """`KIND_hash, KIND`: the first id of every text, and of a passage that of its document."""
    ids = pl.read_parquet(corpus.file(f"{kind}_ids.parquet")).select(pl.col(column).alias(kind), "hash")
    first = ids.unique("hash", keep="first", maintain_order=True)
    blank = first.filter(pl.col(kind).str.contains(r"\s"))
    if blank.height:
        raise ValueError(
            f"{blank.height} ids of a {kind} hold blanks (for example {blank[kind][0]!r}); in a TREC file "
            "each would be two columns"
        )
    return first.rename({"hash": f"{kind}_hash"})


def _documents(passages: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """The same of documents: the id that most of a document's passages have, since documents may share some."""
    named = parts.join(passages, on="passage_hash").group_by("document_hash", "passage").len()
    surest = named.sort("len", "passage", descending=[True, False]).unique("document_hash", keep="first")
    return surest.select("passage", passage_hash="document_hash")


def _named(rows: pl.DataFrame, queries: pl.DataFrame, passages: pl.DataFrame) -> pl.DataFrame:
    joined = rows
    for ids, key in ((queries, "query_hash"), (passages, "passage_hash")):
        joined = joined.join(ids, on=key, how="left", maintain_order="left")
    return joined


def _write(path: Path, rows: pl.DataFrame) -> Path:
    text = rows.write_csv(include_header=False, separator=" ", quote_style="never")
    write_whole(path, text.encode("utf-8"))
    return path


def _file_name(system: str) -> str:
    """A system as the name of a file and of a run: another for every system, without blanks, and none that hides."""
    return re.sub(r"^\.", "%2E", quote(system, safe="@+"))
