"""Users' data on disk, as small as it can be: BEIR folders and pairs files."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tiny import WORDS

PASSAGES = {"d1": ("Rivers", "A river is long."), "d2": ("", "A tree is tall."), "d3": ("", "A house is red.")}
QUERIES = {"q1": "what is long", "q2": "what is tall", "q3": "what is red"}
LABELS = {"train": [("q1", "d1", "1")], "dev": [("q2", "d2", "2")], "test": [("q3", "d3", "1"), ("q3", "d1", "0")]}

Labels = Mapping[str, Sequence[tuple[str, str, str]]]


def write_beir(
    folder: Path,
    passages: Mapping[str, tuple[str, str]] = PASSAGES,
    queries: Mapping[str, str] = QUERIES,
    labels: Labels = LABELS,
) -> Path:
    """Write a BEIR folder: passages (title, text) and queries by id, labels (query id, passage id, grade) by split."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    rows = [{"_id": name, "title": title, "text": text, "metadata": {}} for name, (title, text) in passages.items()]
    write_jsonl(folder / "corpus.jsonl", rows)
    write_jsonl(folder / "queries.jsonl", [{"_id": name, "text": text} for name, text in queries.items()])
    for split, judged in labels.items():
        lines = ["query-id\tcorpus-id\tscore", *("\t".join(row) for row in judged)]
        (folder / "qrels" / f"{split}.tsv").write_text("".join(line + "\n" for line in lines), "utf-8")
    return folder


def write_jsonl(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """Write JSON lines with plain ASCII escapes."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_words(folder: Path, count: int) -> Path:
    """Write a BEIR folder whose queries share words with their passage: 60 % train, 20 % dev, 20 % test."""
    words = [word for word in WORDS if len(word) > 2]
    size = len(words)
    texts = [
        f"{words[n % size]} {words[(n * 7 + 3) % size]} {words[(n * 11 + n // size) % size]}" for n in range(count)
    ]
    qrels = folder / "qrels"
    qrels.mkdir(parents=True)
    passages = [{"_id": f"d{n}", "title": "", "text": f"{text} passage {n}"} for n, text in enumerate(texts)]
    queries = [{"_id": f"q{n}", "text": f"how to {text}"} for n, text in enumerate(texts)]
    for name, rows in (("corpus", passages), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    cuts = {"train": (0, count * 3 // 5), "dev": (count * 3 // 5, count * 4 // 5), "test": (count * 4 // 5, count)}
    for split, (first, last) in cuts.items():
        lines = ["query-id\tcorpus-id\tscore", *(f"q{n}\td{n}\t1" for n in range(first, last))]
        (qrels / f"{split}.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    return folder
