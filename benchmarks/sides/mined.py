"""One side of `benchmarks/mining.py`, in a process of its own, so that its peak memory is its own.

python benchmarks/sides/mined.py SIDE FOLDER THREADS

FOLDER holds passages.npy, queries.npy (unit vectors) and positives.npy (a passage row for every query).
Prints one line of JSON: seconds, MB at the start and at the peak, and what was mined.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

DEPTH, COUNT, SHARE = 100, 20, 0.95


def peak() -> float:
    """The most memory this process has held so far, in MB (Linux; `ru_maxrss` begins with what its parent held)."""
    told = Path("/proc/self/status").read_text("utf-8")
    return int(told.split("VmHWM:")[1].split()[0]) / 1024


def texts(name: str, count: int) -> list[str]:
    """Distinct texts for vectors that have none."""
    return [f"{name} {number} of {count}" for number in range(count)]


def by_us(folder: Path) -> tuple[float, float, dict[str, list[str]]]:
    """Mine as the step does, from artifacts to artifact."""
    import tempfile

    import torch  # noqa: F401  (imports are no part of the measurement, on either side)

    from tasks.mine.miners import Miner, Miners
    from tasks.mine.mining import mine_candidates
    from tasks.mine.settings import Mining

    passages, queries, positives = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in NAMES)
    named = {"passages": texts("passage", len(passages)), "queries": texts("query", len(queries))}
    corpus, vectors = as_artifacts(folder, named, np.asarray(positives))
    miner = Miner(system="warm", vectors=vectors)
    settings = Mining(depth=DEPTH, last_rank=DEPTH, perc_pos=SHARE, count=COUNT)
    before, started = peak(), time.perf_counter()
    with tempfile.TemporaryDirectory() as root:
        mined = mine_candidates(Path(root), corpus, Miners.first(miner, miner), settings)
        seconds = time.perf_counter() - started
        found = pl.read_parquet(mined.file("candidates.parquet"))
    lists = found.sort("query_hash", "rank").group_by("query_hash", maintain_order=True).agg("passage_hash")
    return seconds, before, {named["queries"][query]: [named["passages"][row] for row in rows]
                             for query, rows in lists.iter_rows()}  # fmt: skip


def as_artifacts(folder: Path, named: dict[str, list[str]], positives: Any) -> tuple[Any, Any]:
    """A corpus whose hashes are row numbers, and the vectors beside it."""
    from tasks.artifacts import make_artifact

    def corpus(made: Path) -> dict[str, object]:
        for name, split in (("passages", None), ("queries", "train")):
            frame = pl.DataFrame({"hash": range(len(named[name])), "text": named[name]})
            (frame if split is None else frame.with_columns(split=pl.lit(split))).write_parquet(
                made / f"{name}.parquet"
            )
        labels = pl.DataFrame({"query_hash": range(len(positives)), "passage_hash": positives})
        labels = labels.with_columns(grade=pl.lit(1), split=pl.lit("train"))
        labels.write_parquet(made / "labels.parquet")
        return {}

    def vectors(made: Path) -> dict[str, object]:
        for name in ("passages", "queries"):
            (made / f"{name}.npy").symlink_to((folder / f"{name}.npy").resolve())
        return {"similarity": "cosine"}

    root = folder / "artifacts"
    return make_artifact(root, "ingest", 1, {}, {}, corpus), make_artifact(root, "encode", 1, {}, {}, vectors)


class Encoded:
    """Stands for a SentenceTransformer whose texts are encoded already."""

    device = "cpu"
    prompts: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, passages: Any, queries: Any) -> None:
        self.passages, self.queries = passages, queries
        self.similarity_fn_name = "cosine"

    def encode_document(self, texts: list[str], **options: Any) -> Any:
        """Vectors by the number in the text."""
        return self.passages[[int(text.split()[1]) for text in texts]]

    def encode_query(self, texts: list[str], **options: Any) -> Any:
        """Vectors by the number in the text."""
        return self.queries[[int(text.split()[1]) for text in texts]]

    def get_embedding_dimension(self) -> int:
        """Width of the vectors."""
        return int(self.passages.shape[1])

    def similarity(self, left: Any, right: Any) -> Any:
        """Cosines of vectors of unit length."""
        from sentence_transformers.util import cos_sim

        return cos_sim(left, right)

    def similarity_pairwise(self, left: Any, right: Any) -> Any:
        """The same, row by row."""
        from sentence_transformers.util import pairwise_cos_sim

        return pairwise_cos_sim(left, right)


def by_them(folder: Path, faiss: bool) -> tuple[float, float, dict[str, list[str]]]:
    """`mine_hard_negatives` with the same depth, share and count, from texts to its data set."""
    from datasets import Dataset
    from sentence_transformers.util import mine_hard_negatives

    if faiss:
        import faiss as _  # noqa: F401
    passages, queries, positives = (np.load(folder / f"{name}.npy") for name in NAMES)
    documents, asked = texts("passage", len(passages)), texts("query", len(queries))
    pairs = Dataset.from_dict({"query": asked, "positive": [documents[row] for row in positives]})
    before, started = peak(), time.perf_counter()
    found = mine_hard_negatives(
        pairs,
        Encoded(passages, queries),  # type: ignore[arg-type]
        corpus=documents,
        range_max=DEPTH,
        relative_margin=1 - SHARE,
        num_negatives=COUNT,
        sampling_strategy="top",
        output_format="triplet",
        use_faiss=faiss,
        verbose=False,
    )
    seconds = time.perf_counter() - started
    lists = pl.from_arrow(found.data.table).group_by("query", maintain_order=True).agg("negative")
    return seconds, before, dict(lists.iter_rows())


NAMES = ("passages", "queries", "positives")


def main() -> None:
    """Mine, measure, tell."""
    import torch

    side, folder, threads = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    if threads:
        torch.set_num_threads(threads)
    seconds, before, lists = by_us(folder) if side == "ours" else by_them(folder, side == "theirs, faiss")
    (folder / f"{side}.json").write_text(json.dumps(lists))
    told = {"seconds": seconds, "before": before, "peak": peak(), "mined": sum(map(len, lists.values()))}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
