"""The plan: pending pairs cut into shards once, so that a resumed run computes what an uninterrupted one would."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import Artifact, make_artifact, name_artifact
from tasks.score.settings import Scoring

VERSION = 1
KEYS = ["query_hash", "passage_hash"]

BYTES_PER_TOKEN = 4  # of UTF-8; only the order and the evenness of shards depend on it
SPECIAL_TOKENS = 3
LONGEST = 512  # tokens after which nearly every cross-encoder cuts


def planned(root: Path, pairs: Artifact, teacher: str, attempt: int) -> Artifact | None:
    """Find the plan of an earlier, interrupted run; None where there is none."""
    plan = name_artifact(root, "plan", VERSION, {"attempt": attempt}, _inputs(pairs, teacher))
    return plan if (plan.path / "artifact.json").exists() else None


def make_plan(
    root: Path, pairs: Artifact, teacher: str, attempt: int, pending: pl.DataFrame, sizes: Scoring
) -> Artifact:
    """Cut pending pairs into shards and write plan.parquet: `shard, query_hash, passage_hash, length`.

    Args:
        root: Folder of all artifacts.
        pairs: The pairs to score.
        teacher: The teacher's fingerprint.
        attempt: 0, or more where shards of an earlier plan were lost together with the warehouse.
        pending: `query_hash, passage_hash, length` (approximate tokens) of the pairs not yet in the store.
        sizes: Size and least number of shards.
    """

    def build(folder: Path) -> Mapping[str, Any]:
        plan = cut(pending, sizes)
        plan.write_parquet(folder / "plan.parquet", compression="zstd")
        return {
            "pairs": plan.height,
            "shards": plan["shard"].n_unique(),
            "tokens_about": int(plan["length"].sum()),
            "sizes": sizes.model_dump(),
        }

    return make_artifact(root, "plan", VERSION, {"attempt": attempt}, _inputs(pairs, teacher), build)


def cut(pending: pl.DataFrame, sizes: Scoring) -> pl.DataFrame:
    """Order pairs by length, longest first, and cut them into shards of about equal tokens.

    A shard thus holds pairs of like length, so its batches waste little, and memory is short at once or never.

    Args:
        pending: `query_hash, passage_hash, length`.
        sizes: Size and least number of shards.

    Returns:
        `shard` (from 0, without gaps), `query_hash, passage_hash, length`, in the order of scoring.
    """
    if not pending.height:
        return pending.select(pl.lit(0, pl.Int32).alias("shard"), *KEYS, "length")
    ordered = pending.sort(["length", *KEYS], descending=[True, False, False])
    total = int(ordered["length"].sum())
    count = min(max(-(-total // sizes.shard_tokens), sizes.least_shards), ordered.height)
    before = ordered["length"].cum_sum() - ordered["length"]
    number = (before * count // total).rank("dense").cast(pl.Int32) - 1
    return ordered.select(number.alias("shard"), *KEYS, "length")


def with_length(pairs: pl.DataFrame, passages: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """Add `length`, the approximate number of tokens, by the bytes of both texts.

    Raises:
        ValueError: A pair names a text that the corpus doesn't have.
    """
    sized = pairs.join(_bytes(queries, "query_hash"), on="query_hash", how="left").join(
        _bytes(passages, "passage_hash"), on="passage_hash", how="left", suffix="_passage"
    )
    missing = sized.filter(pl.col("bytes").is_null() | pl.col("bytes_passage").is_null())
    if missing.height:
        raise ValueError(
            f"{missing.height} pairs name texts that the corpus doesn't have, first {missing.row(0)[:2]}; "
            "the teacher would be asked about nothing"
        )
    tokens = (pl.col("bytes") + pl.col("bytes_passage")).cast(pl.Int64) // BYTES_PER_TOKEN + SPECIAL_TOKENS
    return sized.select(*KEYS, length=tokens.clip(upper_bound=LONGEST).cast(pl.Int64))


def _bytes(texts: pl.DataFrame, name: str) -> pl.DataFrame:
    return texts.select(pl.col("hash").alias(name), bytes=pl.col("text").str.len_bytes())


def _inputs(pairs: Artifact, teacher: str) -> dict[str, str]:
    return {"pairs": pairs.fingerprint, "teacher": teacher}
