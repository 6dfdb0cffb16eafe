"""A whole corpus artifact as `ingest` writes it, ids included, made from a few lines."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.identity import fingerprint
from warehouse.texts import text_hash

Label = tuple[str, str, int]


def make_corpus(
    root: Path, passages: Sequence[str], queries: Mapping[str, str], labels: Sequence[Label], name: str = "tiny"
) -> Artifact:
    """Write passages, queries (text → split) and labels (query text, passage text, grade) as an ingest artifact."""

    def build(folder: Path) -> dict[str, object]:
        for file, frame in frames(passages, queries, labels).items():
            frame.write_parquet(folder / f"{file}.parquet")
        return {"corpus": name, "warnings": [], "passages": len(set(passages))}

    inputs = {"files": fingerprint(list(passages), dict(queries), [list(label) for label in labels])}
    return make_artifact(root, "ingest", 1, {"name": name}, inputs, build)


def frames(passages: Sequence[str], queries: Mapping[str, str], labels: Sequence[Label]) -> dict[str, pl.DataFrame]:
    asked = sorted(queries, key=text_hash)
    splits = pl.Series([queries[text] for text in asked], dtype=pl.String)
    return {
        "passages": _texts(sorted(set(passages), key=text_hash)),
        "queries": _texts(asked).with_columns(split=splits),
        "passage_ids": _ids("p", passages).select(
            "external_id", pl.lit("").alias("title"), "hash", document="external_id"
        ),
        "query_ids": _ids("q", list(queries)).with_columns(split=pl.Series(list(queries.values()), dtype=pl.String)),
        "labels": pl.DataFrame(
            {
                "query_hash": _hashes([query for query, _, _ in labels]),
                "passage_hash": _hashes([passage for _, passage, _ in labels]),
                "grade": pl.Series([grade for _, _, grade in labels], dtype=pl.Int32),
                "split": pl.Series([queries[query] for query, _, _ in labels], dtype=pl.String),
                "source": pl.Series(["given"] * len(labels), dtype=pl.String),
            }
        ),
    }


def _texts(texts: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({"hash": _hashes(texts), "text": pl.Series(list(texts), dtype=pl.String)})


def _ids(letter: str, texts: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({"external_id": [f"{letter}{number}" for number in range(len(texts))], "hash": _hashes(texts)})


def _hashes(texts: Sequence[str]) -> pl.Series:
    return pl.Series([text_hash(text) for text in texts], dtype=pl.Int64)
