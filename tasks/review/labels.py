"""The labels of review as an artifact: what people said, as far as it may be used for training."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.identity import fingerprint
from tasks.mine.excluded import plain_form

VERSION = 1
KEYS = ["query_hash", "passage_hash"]

log = logging.getLogger("remine.review")


def review_artifact(root: Path, corpus: Artifact, said: pl.DataFrame) -> Artifact | None:
    """Write labels.parquet (`query_hash, passage_hash, grade`) and pairs.parquet (the same pairs, to be scored).

    Labels of queries outside train, or of texts that the corpus no longer has, are left out. A passage that differs
    from a labelled one only in case, spacing or Unicode form has its label.

    Args:
        root: Folder of all artifacts.
        corpus: The corpus as it is now.
        said: `query_hash, passage_hash, grade`, one row per pair.

    Returns:
        The artifact; None where nothing that was said can be used.
    """
    usable = usable_labels(corpus, said)
    if usable.height < said.height:
        log.warning(
            "%d of %d reviewed pairs are not used: their query is not a train query, or the corpus lacks a text",
            said.height - usable.height,
            said.height,
        )
    if not usable.height:
        return None

    def build(folder: Path) -> Mapping[str, Any]:
        labels = with_duplicates(usable, pl.read_parquet(corpus.file("passages.parquet")))
        labels.write_parquet(folder / "labels.parquet", compression="zstd")
        labels.select(KEYS).write_parquet(folder / "pairs.parquet", compression="zstd")
        return {"reviewed": usable.height, "relevant": usable.filter(pl.col("grade") > 0).height}

    inputs = {"corpus": corpus.fingerprint, "labels": fingerprint([list(row) for row in usable.rows()])}
    return make_artifact(root, "review", VERSION, {}, inputs, build)


def usable_labels(corpus: Artifact, said: pl.DataFrame) -> pl.DataFrame:
    """The labels of train queries and of passages that the corpus has, sorted by pair."""
    queries = pl.read_parquet(corpus.file("queries.parquet")).filter(pl.col("split") == "train")
    passages = pl.read_parquet(corpus.file("passages.parquet"), columns=["hash"])
    known = said.join(queries, left_on="query_hash", right_on="hash", how="semi")
    return known.join(passages, left_on="passage_hash", right_on="hash", how="semi").sort(KEYS)


def with_duplicates(labels: pl.DataFrame, passages: pl.DataFrame) -> pl.DataFrame:
    """Give passages of one plain form one label, the highest where people labelled several of them differently."""
    forms = passages.select(passage_hash="hash", form=pl.Series([plain_form(text) for text in passages["text"]]))
    spread = labels.join(forms, on="passage_hash").drop("passage_hash").join(forms, on="form")
    return spread.group_by(KEYS).agg(pl.col("grade").max()).sort(KEYS)
