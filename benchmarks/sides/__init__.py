"""What side-by-side measurements share: texts of a BEIR folder, taking turns, and the machine's bare rate."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import nn

from models.runtime import Runtime

Pairs = list[tuple[str, str]]


def read_texts(folder: Path) -> tuple[list[str], list[str]]:
    """Queries and passages (title and text) of a BEIR folder."""
    queries = [json.loads(line)["text"] for line in (folder / "queries.jsonl").open(encoding="utf-8")]
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").open(encoding="utf-8")]
    return queries, [f"{row.get('title', '')} {row['text']}".strip() for row in rows]


def read_pairs(folder: Path, count: int, per_query: int = 50) -> Pairs:
    """Pair queries, drawn with a fixed seed, with `per_query` passages each, until there are enough pairs."""
    queries, passages = read_texts(folder)
    generator = np.random.default_rng(0)
    chosen = generator.choice(len(queries), size=min(len(queries), -(-count // per_query)), replace=False)
    pairs = [
        (queries[query], passages[passage])
        for query in chosen
        for passage in generator.choice(len(passages), size=min(per_query, len(passages)), replace=False)
    ]
    return pairs[:count]


def in_turns(runs: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Seconds of each run, taken in turns, so that a busy minute hits all alike; a first turn is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeats + 1):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            if turn:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def matmul_rate(runtime: Runtime, hidden: int, inner: int) -> float:
    """Floating-point operations per second of a bare matrix product of a feed-forward layer's shape."""
    dtype = torch.bfloat16 if runtime.precision == "bf16" else torch.float32
    left, right = (
        torch.randn(shape, dtype=dtype, device=runtime.device) for shape in ((2048, hidden), (hidden, inner))
    )
    rates = []
    for _ in range(5):
        torch.matmul(left, right)
        started = time.perf_counter()
        for _ in range(100):
            torch.matmul(left, right)
        if torch.device(runtime.device).type == "cuda":
            torch.cuda.synchronize()
        rates.append(100 * 2 * 2048 * hidden * inner / (time.perf_counter() - started))
    return median(rates)


def operations(transformer: nn.Module, lengths: np.ndarray[Any, Any]) -> float:
    """Floating-point operations of one forward over texts of these lengths (tokens): linear layers and attention."""
    layers = [module for name, module in transformer.named_modules() if "encoder" in name]
    linear = sum(2 * module.weight.numel() for module in layers if isinstance(module, nn.Linear))
    config = transformer.config
    attention = 4 * config.num_hidden_layers * config.hidden_size
    return float(linear * lengths.sum() + attention * (lengths.astype(np.float64) ** 2).sum())


def report(seconds: Mapping[str, list[float]], tokens: int, ours: str, default: str) -> None:
    """Print every median, and ours beside the default and beside the best of the others."""
    middle = {name: median(values) for name, values in seconds.items()}
    for name, values in seconds.items():
        spread = f"{min(values):.2f}–{max(values):.2f}"
        print(f"{name:24} {middle[name]:8.2f} s ({spread} s) {tokens / middle[name]:10,.0f} tokens/s")
    best = min((name for name in middle if name not in (ours, default)), key=lambda name: middle[name])
    print(f"over its defaults: {middle[default] / middle[ours]:.2f}×")
    print(f"over its best setting ({best}): {middle[best] / middle[ours]:.2f}×")
