"""Reading scored pairs from the formats that carry scores: `query, passage, score`, each named by text or by id."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from tasks.ingest.beir import read_lines, read_objects
from tasks.ingest.complaints import Complaints

Pair = tuple[str, str, Any, str]  # query, passage, score, place
PAIRS = {"query": pl.String, "passage": pl.String, "score": pl.Float64, "place": pl.String}
LARGEST = 3.4028234663852886e38  # beyond, the store's 32 bits would hold infinity
BY_ID = ("trec", "colbert")


def read_scores(path: Path, format: str) -> pl.DataFrame:
    """Read pairs: `query, passage, score, place`; texts, or for trec and colbert ids.

    Raises:
        OSError: There is no such file, or it is a folder where a file was needed.
        ValueError: Lines cannot be read, or scores are no finite numbers; the message names the places.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    if path.is_dir() and format != "colbert":
        raise IsADirectoryError(f"{path} is a folder; {format} is one file, and only colbert is a folder")
    if path.is_file() and format == "colbert":
        raise NotADirectoryError(
            f"{path} is a file; colbert is a folder, as `remine lists export --format colbert` makes it"
        )
    complaints = Complaints()
    rows = [row for row in READERS[format](path, complaints) if _is_score(row, complaints)]
    complaints.refuse()
    if not rows:
        raise ValueError(f"{path}: holds no scores; nothing was imported")
    return pl.DataFrame(rows, schema=PAIRS, orient="row")


def _is_score(row: Pair, complaints: Complaints) -> bool:
    score = row[2]
    good = isinstance(score, int | float) and not isinstance(score, bool) and abs(score) <= LARGEST
    if not good:
        what = f"the score is {score!r:.40}; needed a finite number of at most {LARGEST:.1e}, as 32 bits hold it"
        complaints.add("malformed", row[3], what)
    return good


def _sentence_transformers(path: Path, complaints: Complaints) -> Iterator[Pair]:
    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"{path}: not a Parquet file: {error}") from error
    names = [name for name in frame.columns if name == "positive" or name.startswith("negative")]
    if not {"query", "positive", "label"} <= set(frame.columns):
        raise ValueError(f"{path}: the columns are {', '.join(frame.columns)}; needed query, positive, … and label")
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        place, scores = f"{path}:{number}", row["label"]
        texts = [row["query"], *(row[name] for name in names)]
        if not all(isinstance(text, str) for text in texts):
            complaints.add("malformed", place, f"needed texts under query, {', '.join(names)}, got {texts!r:.80}")
            continue
        if not isinstance(scores, list) or len(scores) != len(names):
            what = f"label is {scores!r:.40}; needed the scores of {len(names)} passages (margins are not scores)"
            complaints.add("malformed", place, what)
            continue
        yield from ((row["query"], row[name], score, place) for name, score in zip(names, scores, strict=True))


def _flagembedding(path: Path, complaints: Complaints) -> Iterator[Pair]:
    for number, row in read_objects(path, complaints):
        place, query = f"{path}:{number}", row.get("query")
        for kind in ("pos", "neg"):
            texts, scores = row.get(kind) or [], row.get(f"{kind}_scores") or []
            told = all(isinstance(text, str) for text in (query, *texts))
            if not told or not isinstance(scores, list) or len(texts) != len(scores):
                what = f"needed texts under query and {kind}, and as many numbers under {kind}_scores"
                complaints.add("malformed", place, what)
                continue
            yield from ((str(query), text, score, place) for text, score in zip(texts, scores, strict=True))


def _trec(path: Path, complaints: Complaints) -> Iterator[Pair]:
    for number, line in read_lines(path, complaints):
        cells = line.split()
        if not cells:
            continue
        try:
            query, _, passage, _, score, _ = cells
            yield query, passage, float(score), f"{path}:{number}"
        except ValueError:
            what = f"needed query id, Q0, passage id, rank, score and tag, got {line[:60]!r}"
            complaints.add("malformed", f"{path}:{number}", what)


def _colbert(path: Path, complaints: Complaints) -> Iterator[Pair]:
    names: dict[str, dict[int, str]] = {"query": {}, "passage": {}}
    for file in ("ids.tsv", "examples.json"):
        if not (path / file).is_file():
            raise FileNotFoundError(
                f"{path / file}: no such file; needed a folder as `remine lists export --format colbert` makes it, "
                "whose ids.tsv says which ids the numbers are"
            )
    for at, line in read_lines(path / "ids.tsv", complaints):
        try:
            kind, number, name = line.rstrip("\n").split("\t")
            names[kind][int(number)] = json.loads(name)
        except (ValueError, KeyError):
            what = f"needed query or passage, a number and an id in quotes between tabs, got {line[:60]!r}"
            complaints.add("malformed", f"{path / 'ids.tsv'}:{at}", what)
    for at, line in read_lines(path / "examples.json", complaints):
        place = f"{path / 'examples.json'}:{at}"
        try:
            query, *way = json.loads(line)
            pairs = [(names["query"][query], names["passage"][number], score, place) for number, score in way]
        except (ValueError, TypeError, KeyError) as error:
            what = f"needed [qid, [pid, score], …] with numbers of ids.tsv, got {line[:60]!r} ({error!r})"
            complaints.add("malformed", place, what)
            continue
        yield from pairs


READERS: dict[str, Callable[[Path, Complaints], Iterator[Pair]]] = {
    "sentence-transformers": _sentence_transformers,
    "flagembedding": _flagembedding,
    "colbert": _colbert,
    "trec": _trec,
}
