"""A set with complete labels as a trainer would see it: one train label per query, the rest kept as the truth."""

import random
import shutil
from collections import defaultdict
from pathlib import Path

import polars as pl

from tasks.artifacts import Artifact

HEAD = "query-id\tcorpus-id\tscore\n"


def write_sparse(data: Path, folder: Path, seed: int) -> tuple[int, int]:
    """Copy a BEIR folder with one visible train label per query (train_sparse.tsv, where the folder has one).

    Returns:
        Labels that are visible, and labels that are hidden.
    """
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "qrels").mkdir(parents=True)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/dev.tsv", "qrels/test.tsv"):
        if (data / name).exists():
            shutil.copy(data / name, folder / name)
    labels = read_labels(data / "qrels" / "train.tsv")
    ready = data / "qrels" / "train_sparse.tsv"
    drawing = random.Random(seed)
    drawn = {query: [drawing.choice(sorted(passages))] for query, passages in sorted(labels.items())}
    seen = read_labels(ready) if ready.exists() else drawn
    lines = [f"{query}\t{passage}\t1\n" for query, passages in seen.items() for passage in passages]
    (folder / "qrels" / "train.tsv").write_text(HEAD + "".join(lines), "utf-8")
    return len(lines), sum(map(len, labels.values())) - len(lines)


def read_labels(path: Path) -> dict[str, list[str]]:
    """Positives by query."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines()[1:]:
        query, passage, grade = line.split("\t")
        if int(grade) > 0:
            found[query].append(passage)
    return found


def hidden_truth(data: Path, corpus: Artifact) -> pl.DataFrame:
    """Everything that is relevant to a train query, also what nobody sees: `query_hash, passage_hash`, each once."""
    pairs = [(query, p) for query, passages in read_labels(data / "qrels" / "train.tsv").items() for p in passages]
    named = pl.DataFrame(pairs, schema=["query", "passage"], orient="row")
    for kind in ("query", "passage"):
        ids = pl.read_parquet(corpus.file(f"{kind}_ids.parquet")).select(
            pl.col("external_id").alias(kind), pl.col("hash").alias(f"{kind}_hash")
        )
        named = named.join(ids, on=kind)
    return named.select("query_hash", "passage_hash").unique()
