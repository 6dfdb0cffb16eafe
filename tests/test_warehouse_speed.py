"""The made-up data of `benchmarks/warehouse_speed.py` is data that the warehouse takes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import warehouse_speed

from warehouse.load import load_scores


def test_the_warehouse_takes_what_its_benchmark_makes_up(tmp_path: Path) -> None:
    """A column more in the corpus' files stopped the benchmark before it measured anything, and no test knew."""
    warehouse_speed.make(tmp_path, 1000)
    wh = warehouse_speed.empty(tmp_path)
    load_scores(wh, 1, "t1", tmp_path / "shard.parquet", "shard", {})
    with wh.read() as con:
        assert con.execute("SELECT count(*) FROM teacher_scores").fetchall() == [(1000,)]
        assert con.execute(warehouse_speed.TOP_K).fetchall()[0][0] == 100
