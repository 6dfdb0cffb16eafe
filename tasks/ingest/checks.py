"""Refuse collections whose parts do not fit together."""

import polars as pl

from tasks.ingest.collection import PLACE, Collection
from tasks.ingest.complaints import Complaints


def check(collection: Collection) -> None:
    """Check everything that only the whole collection can tell.

    Raises:
        CorpusError: One error for all faults found: empty texts, repeated ids, labels of texts that are not there,
            contradicting labels, a query id in two splits.
    """
    complaints = Complaints()
    _check_texts(collection.passages, "passage", complaints)
    _check_texts(collection.queries, "query", complaints)
    _check_ids(collection.passages, "passage", complaints)
    _check_ids(collection.queries, "query", complaints)
    _check_judged(collection, complaints)
    _check_grades(collection.judgements, complaints)
    if collection.own_query_ids:
        _check_splits(collection.judgements, complaints)
    complaints.refuse()


def _check_texts(texts: pl.DataFrame, role: str, complaints: Complaints) -> None:
    whole = pl.concat_str("title", "text") if "title" in texts.columns else pl.col("text")
    for row in texts.filter(whole.str.strip_chars() == "").with_columns(PLACE).iter_rows(named=True):
        lacks = "neither title nor text" if role == "passage" else "no text"
        complaints.add("empty", row["place"], f"{role} {row['external_id']!r} has {lacks}")


def _check_ids(texts: pl.DataFrame, role: str, complaints: Complaints) -> None:
    first = pl.col("place").first().over("external_id").alias("first")
    seen = texts.with_columns(PLACE).with_columns(first)
    for row in seen.filter(pl.col("external_id").is_duplicated() & (pl.col("place") != pl.col("first"))).iter_rows(
        named=True
    ):
        what = f"{role} id {row['external_id']!r} was already used at {row['first']}"
        complaints.add("duplicate", row["place"], what)


def _check_judged(collection: Collection, complaints: Complaints) -> None:
    judged = collection.judgements.with_columns(PLACE)
    for role, texts in (("query", collection.queries), ("passage", collection.passages)):
        orphans = judged.join(texts, left_on=f"{role}_id", right_on="external_id", how="anti", maintain_order="left")
        file = texts["file"][0] if len(texts) else "the source"
        for row in orphans.iter_rows(named=True):
            what = f"{role} {row[f'{role}_id']!r} is judged, but {file} does not have it"
            complaints.add("orphan", row["place"], what)


def _check_grades(judgements: pl.DataFrame, complaints: Complaints) -> None:
    pair = ["query_id", "passage_id", "split"]
    seen = judgements.with_columns(PLACE).with_columns(
        pl.col("place").first().over(pair).alias("first"), pl.col("grade").first().over(pair).alias("known")
    )
    for row in seen.filter(pl.col("grade") != pl.col("known")).iter_rows(named=True):
        what = (
            f"query {row['query_id']!r} and passage {row['passage_id']!r} have grade {row['grade']}, "
            f"but {row['known']} at {row['first']}"
        )
        complaints.add("contradiction", row["place"], what)


def _check_splits(judgements: pl.DataFrame, complaints: Complaints) -> None:
    seen = judgements.with_columns(PLACE).with_columns(
        pl.col("place").first().over("query_id").alias("first"), pl.col("split").first().over("query_id").alias("known")
    )
    moved = seen.filter(pl.col("split") != pl.col("known")).unique(
        ["query_id", "split"], keep="first", maintain_order=True
    )
    for row in moved.iter_rows(named=True):
        what = f"query {row['query_id']!r} is in {row['split']}, but in {row['known']} at {row['first']}"
        complaints.add("two splits", row["place"], what)
