"""Load what evaluated systems ranked first."""

from pathlib import Path

from warehouse.connect import Warehouse
from warehouse.load import PAIR, PAIR_KEYS, Fact, _load

RANKINGS = Fact("rankings", PAIR, ("rank", "score"), PAIR_KEYS)


def load_rankings(wh: Warehouse, run_id: int, artifact_id: int, parquet: Path, name: str) -> int:
    """Load an evaluated ranking: query_hash, passage_hash, rank, score. See `warehouse.load` for refusals."""
    return _load(wh, RANKINGS, run_id, artifact_id, parquet, name)
