"""An older DuckDB than ours opens the warehouse: people have the CLI or the driver that their tool came with."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import warehouse_samples as sample
from test_readme import QUERIES

pytestmark = pytest.mark.slow

ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
import duckdb
connection = duckdb.connect(sys.argv[2], read_only=True)
found = [len(connection.execute(sql).fetchall()) for sql in json.loads(sys.argv[3])]
print(json.dumps([duckdb.__version__, found]))
"""


def test_a_client_of_the_line_before_reads_it(tmp_path: Path) -> None:
    """A file written with duckdb 2 defaults cannot be opened by 1.x at all."""
    packages = tmp_path / "packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(packages), "duckdb==1.5.*"]
    installed = subprocess.run(pip, capture_output=True, text=True, timeout=300)
    if installed.returncode:
        pytest.skip(f"no package index: {installed.stderr[-200:]}")
    warehouse, run = sample.open_warehouse(tmp_path)
    sample.play_round(warehouse, run, tmp_path)
    asked = [sys.executable, "-c", ASK, str(packages), str(warehouse.path), json.dumps(QUERIES)]
    version, found = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True, timeout=120).stdout)
    assert version.startswith("1.5.")
    assert len(found) == 3 and all(count > 0 for count in found)
