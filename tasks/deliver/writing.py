"""Scores as files: the columns that came with logit, n_tokens and truncated beside them, or a TREC run."""

import logging
from collections.abc import Callable
from pathlib import Path

import polars as pl

from tasks.artifacts import Artifact
from tasks.ingest.settings import ending
from tasks.replacing import check_place, replacing

KEYS = ["query_hash", "passage_hash"]
SCORES = ["logit", "n_tokens", "truncated"]
TAG = "remine"

log = logging.getLogger("remine.deliver")


def write_scores(path: Path, pairs: Artifact, scored: Artifact) -> None:
    """Write a file whole or not at all, in place of one that is there.

    Args:
        path: Parquet, CSV or JSON lines with a row for each that came, in their order; or a TREC run, by logit.
        pairs: What `gather` read.
        scored: The logits of all of it.

    Raises:
        ValueError: The format has no place for what would be written.
    """
    rows = pl.read_parquet(pairs.file("rows.parquet")).join(
        pl.read_parquet(scored.file("scores.parquet")), on=KEYS, how="left", maintain_order="left"
    )
    write = FORMATS[ending(path)]
    frame = rows if ending(path) == ".trec" else _beside(pl.read_parquet(pairs.file("came.parquet")), rows, path)
    with replacing(path) as beside:
        write(frame, beside)


def _beside(came: pl.DataFrame, rows: pl.DataFrame, path: Path) -> pl.DataFrame:
    replaced = [name for name in SCORES if name in came.columns]
    if replaced:
        log.warning("%s: the columns %s that came are replaced by this teacher's", path, ", ".join(replaced))
    return pl.concat([came.drop(replaced), rows.select(SCORES)], how="horizontal")


def _write_csv(frame: pl.DataFrame, path: Path) -> None:
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    if nested:
        raise ValueError(
            f"the columns {', '.join(nested)} hold lists or structures, for which CSV has no cells; "
            "the scores are kept: run again with --out to a .parquet or .jsonl file"
        )
    frame.write_csv(path)


def _write_trec(rows: pl.DataFrame, path: Path) -> None:
    """`query_id Q0 passage_id rank logit tag`; queries in the order they came, of a repeated pair of ids the best."""
    for name in ("query_id", "passage_id"):
        bad = rows.filter(pl.col(name).str.contains(r"\s"))
        if bad.height:
            raise ValueError(
                f"{bad.height} rows have blanks in their {name}, first {bad[name][0]!r}, and blanks part the fields of "
                "a TREC run; the scores are kept: run again with --out to a .parquet, .csv or .jsonl file"
            )
    order = rows.select("query_id").unique(maintain_order=True).with_row_index("asked")
    best = rows.join(order, on="query_id", maintain_order="left").sort(
        ["asked", "logit"], descending=[False, True], maintain_order=True
    )
    ranked = best.unique(["query_id", "passage_id"], keep="first", maintain_order=True)
    ranked.select(
        "query_id",
        pl.lit("Q0").alias("Q0"),
        "passage_id",
        pl.int_range(1, pl.len() + 1).over("query_id").alias("rank"),
        "logit",
        pl.lit(TAG).alias("tag"),
    ).write_csv(path, include_header=False, separator=" ", quote_style="never")


FORMATS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    ".parquet": lambda frame, path: frame.write_parquet(path, compression="zstd"),
    ".csv": _write_csv,
    ".jsonl": lambda frame, path: frame.write_ndjson(path),
    ".trec": _write_trec,
}


def check_out(path: Path, source: Path) -> None:
    """Refuse a file that cannot be written, before anything is scored.

    Raises:
        OSError: It cannot be written there.
        ValueError: Its name does not say the format, or it is the file that is read.
    """
    if ending(path) not in FORMATS:
        raise ValueError(f"{path}: cannot be written; needed one of {', '.join(FORMATS)}")
    if path.resolve() == source.resolve():
        raise ValueError(f"{path} is the file that the pairs come from; written over, it would be lost")
    check_place(path)
