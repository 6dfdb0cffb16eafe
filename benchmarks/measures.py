"""Our measures beside `pytrec_eval` asked directly: the largest difference over every query of BEIR folders.

python benchmarks/measures.py data/scifact data/nfcorpus
python benchmarks/measures.py DIR   # every BEIR folder in it

BM25 ranks the passages; both are given the same ranking and the labels of every split. Ours goes by texts: where ids
share a text, the first stands for all.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytrec_eval

from tasks.baseline.bm25 import search_bm25
from tasks.evaluate.measures import MEASURES, judged_queries, measure_queries
from tasks.ingest.corpus import make_corpus
from tasks.ingest.settings import Source

AGREE = 1e-6
# RR@10 of trec_eval is recip_rank of the first ten, so it is asked of a shortened run.
NAMES = {"nDCG": "ndcg_cut", "R": "recall", "AP": "map", "RR": "recip_rank"}


def main() -> None:
    """Measure every folder; ends with status 1 where a value differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    folders = [each for given in parser.parse_args().folders for each in beir_folders(given)]
    worst = 0.0
    for folder in folders:
        queries, values, largest = compared(folder)
        worst = max(worst, largest)
        sys.stdout.write(
            f"{folder.name:<12} {queries:>6} queries {values:>7} values, largest difference {largest:.1e}\n"
        )
    sys.stdout.write(f"all: {worst:.1e} ({'within' if worst <= AGREE else 'NOT within'} {AGREE:.0e})\n")
    sys.exit(worst > AGREE)


def beir_folders(path: Path) -> list[Path]:
    """A BEIR folder, or all of those in a folder."""
    return [path] if (path / "corpus.jsonl").exists() else sorted(item.parent for item in path.glob("*/corpus.jsonl"))


def compared(folder: Path) -> tuple[int, int, float]:
    """Queries, values, and the largest difference of a folder."""
    with tempfile.TemporaryDirectory() as root:
        corpus = make_corpus(Path(root), Source(path=str(folder), kind="beir"))
        passages, asked, labels = (
            pl.read_parquet(corpus.file(f"{name}.parquet")) for name in ("passages", "queries", "labels")
        )
    queries = values = 0
    largest = 0.0
    for split in ("train", "dev", "test"):
        judged = judged_queries(labels, split)
        wanted = asked.filter(pl.col("hash").is_in(judged["query_hash"].unique().implode()))
        if wanted.is_empty():
            continue
        ranking = search_bm25(passages, wanted, 100, lambda count: None)
        ours = measure_queries(judged, ranking)
        theirs = directly(judged, ranking, MEASURES)
        pairs = [(value, theirs[query, name]) for query, name, value in ours.iter_rows()]
        queries += wanted.height
        values += len(pairs)
        largest = max(largest, *(abs(one - other) for one, other in pairs))
    return queries, values, largest


def directly(judged: pl.DataFrame, ranking: pl.DataFrame, names: Sequence[str]) -> dict[tuple[int, str], float]:
    """What `pytrec_eval` says, measure by measure; a query without results has 0."""
    qrels = nested(judged, pl.col("grade"))
    found = {}
    for name in names:
        base, _, cut = name.partition("@")
        asked = NAMES[base] + (f".{cut}" if cut and base != "RR" else "")
        kept = ranking.filter(pl.col("rank") <= int(cut)) if base == "RR" else ranking
        run = nested(kept, -pl.col("rank").cast(pl.Float64))
        told = pytrec_eval.RelevanceEvaluator(qrels, {asked}).evaluate(run)
        key = asked.replace(".", "_")
        for query in qrels:
            found[int(query), name] = float(told.get(query, {}).get(key, 0.0))
    return found


def nested(frame: pl.DataFrame, value: pl.Expr) -> dict[str, dict[str, float]]:
    """Query → passage → value, as pytrec_eval takes them."""
    told: dict[str, dict[str, float]] = {}
    for query, passage, number in frame.select("query_hash", "passage_hash", value.alias("value")).iter_rows():
        told.setdefault(str(query), {})[str(passage)] = number
    return told


if __name__ == "__main__":
    main()
