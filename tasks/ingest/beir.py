"""Read a BEIR folder: corpus.jsonl, queries.jsonl and one label file per split."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tasks.ingest.collection import JUDGEMENTS, PASSAGES, QUERIES, Collection, grade_of, has_utf8, id_of
from tasks.ingest.complaints import Complaints
from tasks.ingest.settings import SPLITS

HEADER = ("query-id", "corpus-id", "score")
DEFAULT_SPLITS = ("train", "dev", "test")  # read where they are there


def beir_files(folder: Path, qrels: Mapping[str, str], trains: bool = True, bare: bool = False) -> dict[str, Path]:
    """Find the files of a BEIR folder by role: corpus, queries and a label file per split.

    Args:
        folder: The BEIR folder.
        qrels: File per split, relative to the folder or to its `qrels`; "" leaves the split out.
        trains: Whether labels of train have to be there; without, any label file will do.
        bare: The corpus alone will do; queries and labels are taken where they are there.

    Raises:
        FileNotFoundError: A file that must be there is not; the message names all of them.
    """
    files = {"corpus": folder / "corpus.jsonl", "queries": folder / "queries.jsonl"}
    for split in SPLITS:
        named = qrels.get(split)
        standard = folder / "qrels" / f"{split}.tsv"
        if named:
            files[split] = folder / named if (folder / named).exists() else folder / "qrels" / named
        elif (trains and split == "train") or (named is None and split in DEFAULT_SPLITS and standard.exists()):
            files[split] = standard
    if len(files) == 2:
        files["test"] = folder / "qrels" / "test.tsv"
    if bare:
        files = {role: file for role, file in files.items() if role == "corpus" or qrels.get(role) or file.is_file()}
    missing = [str(path) for path in files.values() if not path.is_file()]
    if missing:
        raise FileNotFoundError(
            f"{', '.join(missing)}: no such file; a BEIR folder needs corpus.jsonl, queries.jsonl and "
            + (
                "qrels/train.tsv (another label file is named with source.qrels.train; where nobody labelled anything, "
                "source.pairs = 'cloze' or 'title' makes queries out of the passages)"
                if trains
                else "qrels/test.tsv"
            )
        )
    return files


def unused_labels(folder: Path, files: Mapping[str, Path]) -> list[str]:
    """Label files that lie in the folder and are not read."""
    used = {path.resolve() for path in files.values()}
    return [item.name for item in sorted((folder / "qrels").glob("*.tsv")) if item.resolve() not in used]


def read_beir(folder: Path, qrels: Mapping[str, str], trains: bool = True, bare: bool = False) -> Collection:
    """Read a BEIR folder; with `bare`, of the corpus alone where there is no more.

    Raises:
        FileNotFoundError: A file is missing.
        CorpusError: Lines are malformed, ids or texts are missing, or grades are not whole numbers.
    """
    files = beir_files(folder, qrels, trains, bare)
    complaints = Complaints()
    passages = list(_texts(files["corpus"], complaints, titled=True))
    queries = list(_texts(files["queries"], complaints, titled=False)) if "queries" in files else []
    judgements = [row for split in SPLITS if split in files for row in _judgements(files[split], split, complaints)]
    complaints.refuse()
    unused = unused_labels(folder, files)
    return Collection(
        pl.DataFrame(passages, schema=PASSAGES, orient="row"),
        pl.DataFrame(queries, schema=QUERIES, orient="row"),
        pl.DataFrame(judgements, schema=JUDGEMENTS, orient="row"),
        own_query_ids=True,
        notes=(f"label files not read: {', '.join(unused)}",) if unused else (),
    )


def read_lines(path: Path, complaints: Complaints) -> Iterator[tuple[int, str]]:
    r"""Yield numbered lines of UTF-8 text with their ends; only `\n` ends a line."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                complaints.add("malformed", f"{path}:{number}", f"not UTF-8: {error.reason} at byte {error.start}")


def read_objects(path: Path, complaints: Complaints) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the numbered JSON objects of a JSON-lines file; blank lines are passed over."""
    for number, line in read_lines(path, complaints):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            complaints.add("malformed", f"{path}:{number}", f"not JSON ({error}): {line[:60]!r}")
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            complaints.add("malformed", f"{path}:{number}", f"needed a JSON object, got {line[:60]!r}")


def _texts(path: Path, complaints: Complaints, titled: bool) -> Iterator[tuple[Any, ...]]:
    file = str(path)
    for number, row in read_objects(path, complaints):
        place = f"{file}:{number}"
        name, text = id_of(row.get("_id")), row.get("text")
        title = (row.get("title") or "") if titled else ""
        if name is None:
            complaints.add("malformed", place, f"needed a text under '_id', got {row.get('_id')!r}")
        elif not isinstance(text, str) or not isinstance(title, str):
            got = f"text {text!r:.40}, title {title!r:.40}" if titled else f"text {text!r:.40}"
            complaints.add("malformed", place, f"{name!r} needs a text under 'text', got {got}")
        elif not (has_utf8(name) and has_utf8(title) and has_utf8(text)):
            complaints.add("surrogate", place, f"{name!r} holds half a surrogate pair: {title + text!r:.60}")
        else:
            yield (name, title, text, file, number) if titled else (name, text, file, number)


def _judgements(path: Path, split: str, complaints: Complaints) -> Iterator[tuple[Any, ...]]:
    file = str(path)
    lines = ((number, line.rstrip("\r\n")) for number, line in read_lines(path, complaints))
    header = next(lines, (1, ""))[1].split("\t")
    if sorted(header) != sorted(HEADER):
        needed = "<tab>".join(HEADER)
        complaints.add("malformed", f"{file}:1", f"needed the header {needed}, got {'<tab>'.join(header)!r:.60}")
        return
    query, passage, score = (header.index(name) for name in HEADER)
    for number, line in lines:
        if not line:
            continue
        cells = line.split("\t")
        place = f"{file}:{number}"
        if len(cells) != len(HEADER) or not cells[query] or not cells[passage]:
            complaints.add("malformed", place, f"needed query-id, corpus-id and score between tabs, got {line[:60]!r}")
        else:
            yield cells[query], cells[passage], grade_of(cells[score], place, complaints), split, file, number
