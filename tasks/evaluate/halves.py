"""Dev in two halves: by `select` is chosen, by `decide` is decided, so that a p-value is of queries nobody chose by."""

from hashlib import blake2b

import polars as pl

from tasks.artifacts import Artifact
from tasks.evaluate.measures import judged_queries

LEAST = 400  # fewer dev queries than this serve both: half of them could show nothing but large differences
HALF = 1 << 31


def select(dev: pl.DataFrame) -> pl.DataFrame:
    """The rows of the queries that choose: checkpoints, blend, calibration, threshold.

    Args:
        dev: Rows of all counted dev queries, with their `query_hash`.
    """
    return dev.filter(pl.col("query_hash").is_in(_chooses(dev).implode())) if is_halved(dev) else dev


def decide(dev: pl.DataFrame) -> pl.DataFrame:
    """The rows of the queries that decide: the teacher's gate and promotions; see `select`."""
    return dev.filter(~pl.col("query_hash").is_in(_chooses(dev).implode())) if is_halved(dev) else dev


def deciding(metrics: pl.DataFrame) -> pl.DataFrame:
    """The dev rows of a system's measures per query that decide.

    Args:
        metrics: `split, query_hash, measure, value` of all counted queries.
    """
    return decide(metrics.filter(pl.col("split") == "dev"))


def is_halved(dev: pl.DataFrame) -> bool:
    """Whether there are enough dev queries for one half to choose and the other to decide."""
    return dev["query_hash"].n_unique() >= LEAST


def chosen_by(corpus: Artifact) -> dict[str, str]:
    """What belongs to the name of what dev chooses: nothing where all of dev does, or where the corpus isn't made."""
    path = corpus.path / "labels.parquet"
    if not path.exists():
        return {}
    dev = judged_queries(pl.read_parquet(path, columns=["query_hash", "passage_hash", "grade", "split"]), "dev")
    return {"dev": "select"} if is_halved(dev) else {}


def _chooses(dev: pl.DataFrame) -> pl.Series:
    """Hashes of the queries that choose, by the hash alone: a query stays in its half when others come and go."""
    hashes = dev["query_hash"].unique().sort()
    return hashes.filter(pl.Series([_point(each) < HALF for each in hashes], dtype=pl.Boolean))


def _point(query_hash: int) -> int:
    named = query_hash.to_bytes(8, "little", signed=True)
    return int.from_bytes(blake2b(named, digest_size=4, person=b"remine-select").digest(), "little")
