"""A corpus small enough to work out by hand, as the files that the steps write."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from copies import copied

from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.load import (
    link_round,
    load_candidates,
    load_corpus,
    load_metrics,
    load_scores,
    load_verdicts,
    register_artifact,
    register_model,
    start_run,
)
from warehouse.texts import passage_text, text_hash

PASSAGES = {
    "d1": ("Fruit", "red apple"),
    "d2": ("", "green apple"),
    "d3": ("", "blue sky"),
    "d4": ("Fruit", "red apple"),  # the text of d1 under another id
    "d5": ("", "deep sea"),
    "d6": ("", "tall tree"),
}
QUERIES = {"q1": ("apple", "train"), "q2": ("sky", "train"), "q3": ("sea", "test")}
LABELS = [("q1", "d1", 1), ("q2", "d3", 2), ("q3", "d5", 1)]
CANDIDATES = [
    ("q1", "d2", 1, 0.75),
    ("q1", "d3", 2, 0.5),
    ("q1", "d6", 3, 0.2),
    ("q2", "d2", 1, 0.6),
    ("q2", "d5", 2, 0.4),
    ("q2", "d6", 3, 0.1),
]
LOGITS = {
    ("q1", "d1"): 1.0,
    ("q1", "d2"): 3.0,
    ("q1", "d3"): -2.0,
    ("q1", "d6"): -4.0,
    ("q2", "d3"): 4.0,
    ("q2", "d2"): -3.0,
    ("q2", "d5"): 0.25,
    ("q2", "d6"): 2.5,
}
VERDICTS = [
    ("q1", "d1", "positive"),
    ("q1", "d2", "approved"),
    ("q1", "d3", "negative"),
    ("q1", "d6", "negative"),
    ("q2", "d3", "positive"),
    ("q2", "d2", "negative"),
    ("q2", "d5", "ambiguous"),
    ("q2", "d6", "promoted"),
]


def query_hash(name: str) -> int:
    return text_hash(QUERIES[name][0])


def passage_hash(name: str) -> int:
    return text_hash(passage_text(*PASSAGES[name]))


def corpus(
    folder: Path,
    passages: Mapping[str, tuple[str, str]] = PASSAGES,
    queries: Mapping[str, tuple[str, str]] = QUERIES,
    labels: Iterable[tuple[str, str, int]] = LABELS,
) -> Path:
    """Write a corpus as the ingest step does."""
    folder.mkdir(parents=True)
    texts = {passage_text(title, text) for title, text in passages.values()}
    hashed = {name: text_hash(passage_text(*passages[name])) for name in passages}
    asked = {name: text_hash(queries[name][0]) for name in queries}
    frame(folder / "passages.parquet", sorted((text_hash(text), text) for text in texts), ("hash", "text"))
    rows = [(name, title, hashed[name], name) for name, (title, _) in passages.items()]
    frame(folder / "passage_ids.parquet", rows, ("external_id", "title", "hash", "document"))
    rows = sorted((asked[name], text, split) for name, (text, split) in queries.items())
    frame(folder / "queries.parquet", rows, ("hash", "text", "split"))
    rows = [(name, asked[name], split) for name, (_, split) in queries.items()]
    frame(folder / "query_ids.parquet", rows, ("external_id", "hash", "split"))
    given = [(asked[query], hashed[passage], grade, queries[query][1], "given") for query, passage, grade in labels]
    frame(folder / "labels.parquet", given, ("query_hash", "passage_hash", "grade", "split", "source"))
    return folder


def frame(path: Path, rows: Iterable[tuple[Any, ...]], columns: tuple[str, ...]) -> Path:
    pl.DataFrame(list(rows), schema=list(columns), orient="row").write_parquet(path)
    return path


def scores(path: Path, logits: Mapping[tuple[str, str], float] = LOGITS) -> Path:
    rows = [(query_hash(q), passage_hash(d), logit, 7, False) for (q, d), logit in logits.items()]
    columns = ("query_hash", "passage_hash", "logit", "n_tokens", "truncated")
    return frame(path, rows, columns)


def about(step: str, fingerprint: str, inputs: Mapping[str, str] | None = None, **facts: Any) -> dict[str, Any]:
    """What `artifact.json` says."""
    return {
        "step": step,
        "fingerprint": fingerprint,
        "code": 1,
        "settings": {},
        "inputs": dict(inputs or {}),
        "versions": {"duckdb": "2.0.1"},
        "seconds": 2.5,
        "made_at": "2100-01-01T00:00:00+00:00",  # after any run of these tests began
        "facts": facts,
    }


def open_warehouse(folder: Path, **settings: Any) -> tuple[Warehouse, int]:
    """A warehouse with one run and the corpus."""
    copied(opened, folder)
    return Warehouse(folder / "warehouse.duckdb", **settings), 1


def opened(folder: Path) -> None:
    wh = Warehouse(folder / "warehouse.duckdb")
    assert start_run(wh, "distill", "sample", '{"rounds": 1}', {"host": "here"}) == 1
    load_corpus(wh, 1, "toy", corpus(folder / "ingest"), "corpus-1")


def play_round(wh: Warehouse, run: int, folder: Path) -> None:
    """Load one whole round: mined, scored, denoised, evaluated."""
    register_model(wh, "teacher", "big", "t1", {"a": 1.0, "b": 0.0, "activation": "identity"})
    steps = {
        "mine": about("mine", "m1", lists={"warm": {"kept": 6, "near duplicate": 2}}, recall={"warm": 0.875}),
        "score": about("score", "s1", {"teacher": "t1"}, pairs=8, new=6, reused=2, tokens=42, truncated=1),
        "denoise": about("denoise", "j1"),
        "evaluate": about("evaluate", "e1"),
    }
    ids = {step: register_artifact(wh, run, told, f"artifacts/{step}") for step, told in steps.items()}
    for step, artifact in ids.items():
        link_round(wh, run, 1, step, artifact)
    load_scores(wh, run, "t1", scores(folder / "scores.parquet"), "s1/scores.parquet", {"precision": "fp32"})
    rows = [(query_hash(q), passage_hash(d), rank, score, "warm") for q, d, rank, score in CANDIDATES]
    columns: tuple[str, ...] = ("query_hash", "passage_hash", "rank", "student_score", "miner")
    load_candidates(wh, run, ids["mine"], frame(folder / "candidates.parquet", rows, columns), "m1/candidates.parquet")
    load_verdicts(wh, run, ids["denoise"], verdicts(folder / "verdicts.parquet"), "j1/verdicts.parquet")
    told = [("base", "test", "nDCG@10", 0.5, 0.1, 1), ("round-1", "test", "nDCG@10", 0.75, 0.1, 1)]
    columns = ("system", "split", "measure", "value", "chance", "queries")
    load_metrics(wh, run, ids["evaluate"], frame(folder / "metrics.parquet", told, columns), "e1/metrics.parquet")


def played(folder: Path) -> Where:
    """A folder with one round. Of q1, d1 is positive, d2 approved, d3 and d6 negative; of q2, d3 is positive, d2
    negative, d5 ambiguous, d6 promoted.
    """
    copied(play, folder)
    return Where(home=folder, lock_seconds=20)


def play(folder: Path) -> None:
    wh, run = open_warehouse(folder)
    play_round(wh, run, folder)


def warehouse(where: Where) -> Warehouse:
    return Warehouse(where.warehouse_path, 20)


def verdicts(path: Path) -> Path:
    """All verdicts with a target of twice the logit; only q1-d2 says its probability."""
    rows = []
    for q, d, verdict in VERDICTS:
        probability = 0.875 if (q, d) == ("q1", "d2") else None
        target = 2 * LOGITS[q, d]
        rows.append((query_hash(q), passage_hash(d), verdict, "by hand", 1.0, probability, target))
    columns = ("query_hash", "passage_hash", "verdict", "reason", "weight", "probability", "judgement")
    return frame(path, rows, columns)


def rows(wh: Warehouse, sql: str) -> list[tuple[Any, ...]]:
    with wh.read() as con:
        return con.execute(sql).fetchall()
