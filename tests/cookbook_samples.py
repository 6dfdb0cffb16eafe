"""A second run on the corpus worked out by hand: two rounds, another teacher, a student that got worse."""

from pathlib import Path

import warehouse_samples as sample
from warehouse_samples import about, frame, passage_hash, query_hash

from warehouse.connect import Warehouse
from warehouse.load import (
    link_round,
    load_candidates,
    load_diagnostics,
    load_history,
    load_metrics,
    load_query_metrics,
    load_rankings,
    load_scores,
    load_verdicts,
    register_artifact,
    register_model,
    start_run,
)
from warehouse.promotions import add_promotion
from warehouse.snapshot import publish

CANDIDATES = {
    1: [("q1", "d2", 1, 0.8), ("q1", "d3", 2, 0.5), ("q1", "d6", 3, 0.1), ("q2", "d2", 1, 0.6), ("q2", "d5", 2, 0.4)],
    2: [("q1", "d2", 1, 0.7), ("q1", "d5", 2, 0.3), ("q2", "d6", 1, 0.6), ("q2", "d2", 2, 0.5)],
}
LOGITS = {
    1: {
        ("q1", "d1"): -1.0,
        ("q1", "d2"): 2.0,
        ("q1", "d3"): -1.5,
        ("q1", "d6"): -3.0,
        ("q2", "d3"): 3.0,
        ("q2", "d2"): -2.5,
        ("q2", "d5"): 0.0,
    },
    2: {("q1", "d5"): -2.0, ("q2", "d6"): 1.0},
}
VERDICTS = {("q1", "d1"): "positive", ("q1", "d2"): "approved", ("q2", "d3"): "positive"}
UNSURE = {("q2", "d5"), ("q2", "d6")}
EVALUATED = {"base": (0, 0.5, ["d5", "d6"]), "round-2": (2, 0.25, ["d6", "d5"]), "chance": (0, 0.1, [])}


def play(folder: Path) -> Warehouse:
    """A warehouse with both runs and a snapshot."""
    wh, first = sample.open_warehouse(folder)
    sample.play_round(wh, first, folder)
    run = start_run(wh, "distill", "other", "{}", {})
    with wh.write() as con:
        con.execute("UPDATE runs SET corpus = 'toy' WHERE run_id = ?", [run])
    register_model(wh, "teacher", "small", "t2", {"a": 2.0, "b": 0.0, "activation": "identity"})
    for number in (1, 2):
        play_round(wh, run, number, folder)
    for system in EVALUATED:
        evaluate(wh, run, system, folder)
    train(wh, run, folder)
    publish(wh)
    return wh


def enter(wh: Warehouse, run: int, number: int, step: str, name: str, inputs: dict[str, str], **facts: int) -> int:
    key = register_artifact(wh, run, about(step, name, inputs, **facts), f"artifacts/{name}")
    link_round(wh, run, number, step, key)
    return key


def play_round(wh: Warehouse, run: int, number: int, folder: Path) -> None:
    mined = enter(wh, run, number, "mine", f"mine-{number}", {})
    fresh = len(LOGITS[number])
    facts = {"pairs": 9, "new": fresh, "reused": 9 - fresh, "tokens": 7 * fresh, "truncated": 1}
    enter(wh, run, number, "score", f"score-{number}", {"teacher": "t2"}, **facts)
    judged = enter(wh, run, number, "denoise", f"denoise-{number}", {})
    rows: list[tuple[object, ...]] = [
        (query_hash(q), passage_hash(d), logit, 7, (q, d) == ("q1", "d6")) for (q, d), logit in LOGITS[number].items()
    ]
    columns: tuple[str, ...] = ("query_hash", "passage_hash", "logit", "n_tokens", "truncated")
    shard = frame(folder / f"scores-{number}.parquet", rows, columns)
    load_scores(wh, run, "t2", shard, f"t2/{number}", {"precision": "fp32"})
    rows = [(query_hash(q), passage_hash(d), rank, score, "warm") for q, d, rank, score in CANDIDATES[number]]
    columns = ("query_hash", "passage_hash", "rank", "student_score", "miner")
    load_candidates(wh, run, mined, frame(folder / f"mined-{number}.parquet", rows, columns), f"mined-{number}")
    logits = {**LOGITS[1], **LOGITS[2]}
    pairs = [("q1", "d1"), ("q2", "d3"), *((q, d) for q, d, _, _ in CANDIDATES[number])]
    rows = [
        (query_hash(q), passage_hash(d), verdict(q, d), "by hand", 1.0, None, logits[q, d]) for q, d in sorted(pairs)
    ]
    columns = ("query_hash", "passage_hash", "verdict", "reason", "weight", "probability", "judgement")
    load_verdicts(wh, run, judged, frame(folder / f"judged-{number}.parquet", rows, columns), f"judged-{number}")


def verdict(query: str, passage: str) -> str:
    return "ambiguous" if (query, passage) in UNSURE else VERDICTS.get((query, passage), "negative")


def evaluate(wh: Warehouse, run: int, system: str, folder: Path) -> None:
    number, value, ranked = EVALUATED[system]
    key = enter(wh, run, number, "evaluate", f"evaluate-{system}", {})
    rows: list[tuple[object, ...]] = [(system, "test", "nDCG@10", value, 0.1, 1)]
    columns: tuple[str, ...] = ("system", "split", "measure", "value", "chance", "queries")
    load_metrics(wh, run, key, frame(folder / f"{system}-1.parquet", rows, columns), f"metrics-{system}")
    rows = [(system, "test", query_hash("q3"), "nDCG@10", value)]
    columns = ("system", "split", "query_hash", "measure", "value")
    load_query_metrics(wh, run, key, frame(folder / f"{system}-2.parquet", rows, columns), f"queries-{system}")
    if ranked:
        rows = [(query_hash("q3"), passage_hash(d), rank, 1 / rank) for rank, d in enumerate(ranked, start=1)]
        columns = ("query_hash", "passage_hash", "rank", "score")
        load_rankings(wh, run, key, frame(folder / f"{system}-3.parquet", rows, columns), f"ranking-{system}")


def train(wh: Warehouse, run: int, folder: Path) -> None:
    key = enter(wh, run, 2, "train", "train-2", {})
    rows: list[tuple[object, ...]] = [
        (0, 0.0, None, 0.5, 0.0, 0),
        (5, 0.5, 0.3, None, 1.0, 70),
        (10, 1.0, 0.2, 0.6, 2.0, 140),
    ]
    columns: tuple[str, ...] = ("step", "epoch", "loss", "measure", "seconds", "tokens")
    load_history(wh, run, key, frame(folder / "history.parquet", rows, columns), "history")
    key = enter(wh, run, 2, "promote", "promote-2", {})
    rows = [("promotion nDCG@10 dev difference", -0.25, "base stays"), ("promotion nDCG@10 dev p", 0.5, "base stays")]
    noted = frame(folder / "diagnostics.parquet", rows, ("name", "value", "note"))
    load_diagnostics(wh, run, key, noted, "diagnostics")
    chosen = {"run_id": run, "system": "base", "fingerprint": "f", "path": "model", "trust_remote_code": False}
    decided = {**chosen, "evaluation": "e", "made_by": "run", "who": "somebody", "why": "base stays"}
    add_promotion(wh, "toy", decided)
    add_promotion(wh, "toy", {**decided, "system": "round-2", "made_by": "hand", "who": "ann", "why": "readers say so"})
