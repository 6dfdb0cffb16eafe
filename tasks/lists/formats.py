"""How other trainers want their lists: one function per format, each from listings to bytes.

Scores are logits: the teacher's own, or the judgement that training reads. A list that a format cannot
hold is left out and counted.
"""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from tasks.lists.listing import Listing, Passage

Files = Mapping[str, bytes]  # by name within the folder; "" is the file itself
Writer = Callable[[Sequence[Listing], int], tuple[Files, int]]


def sentence_transformers(lists: Sequence[Listing], negatives: int) -> tuple[Files, int]:
    """Parquet: query, positive, negative_1 …, label (the teacher's scores of the passages, in their order).

    That is what `MarginMSELoss` and `DistillKLDivLoss` of sentence-transformers take; one row per positive.
    """
    rows = [
        {"query": each.query, **_columns(way), "label": [passage.logit for passage in way]}
        for each, way in _ways(lists, negatives)
    ]
    names = ["query", "positive", *(f"negative_{number}" for number in range(1, negatives + 1))]
    schema: dict[str, pl.DataType] = {**{name: pl.String() for name in names}, "label": pl.List(pl.Float32)}
    file = io.BytesIO()
    pl.DataFrame(rows, schema=schema).write_parquet(file, compression="zstd")
    return {"": file.getvalue()}, len(rows)


def flagembedding(lists: Sequence[Listing], negatives: int) -> tuple[Files, int]:
    """JSON lines: query, pos, neg, pos_scores, neg_scores (FlagEmbedding, with `knowledge_distillation`)."""
    rows = [
        {
            "query": each.query,
            "pos": [passage.text for passage in each.positives],
            "neg": [passage.text for passage in each.negatives[: negatives or None]],
            "pos_scores": [passage.logit for passage in each.positives],
            "neg_scores": [passage.logit for passage in each.negatives[: negatives or None]],
        }
        for each in _usable(lists)
    ]
    return {"": _json_lines(rows)}, len(rows)


def tevatron(lists: Sequence[Listing], negatives: int) -> tuple[Files, int]:
    """JSON lines: query_id, query, positive_passages, negative_passages (docid, title, text); it has no scores."""
    rows = [
        {
            "query_id": each.id,
            "query": each.query,
            "positive_passages": [_document(passage) for passage in each.positives],
            "negative_passages": [_document(passage) for passage in each.negatives[: negatives or None]],
        }
        for each in _usable(lists)
    ]
    return {"": _json_lines(rows)}, len(rows)


def colbert(lists: Sequence[Listing], negatives: int) -> tuple[Files, int]:
    """A folder: examples.json (lines [qid, [pid, score], …], the positive first), queries.tsv, collection.tsv.

    ColBERT wants numbers for ids and one line per text: ids.tsv says which ids of ours they are, and line breaks and
    tabs become spaces.
    """
    ways = list(_ways(lists, negatives))
    queries = {each.id: number for number, each in enumerate({each.id: each for each, _ in ways}.values())}
    texts = {each.id: each.query for each, _ in ways}
    passages = {passage.id: passage.text for _, way in ways for passage in way}
    numbers = {name: number for number, name in enumerate(passages)}
    lines = [
        json.dumps([queries[each.id], *([numbers[passage.id], passage.logit] for passage in way)]) + "\n"
        for each, way in ways
    ]
    ids = [("query", number, name) for name, number in queries.items()]
    ids += [("passage", number, name) for name, number in numbers.items()]
    files = {
        "examples.json": "".join(lines),
        "queries.tsv": "".join(f"{number}\t{_one_line(texts[name])}\n" for name, number in queries.items()),
        "collection.tsv": "".join(f"{numbers[name]}\t{_one_line(text)}\n" for name, text in passages.items()),
        "ids.tsv": "".join(f"{kind}\t{number}\t{json.dumps(name)}\n" for kind, number, name in ids),
    }
    return {name: text.encode("utf-8") for name, text in files.items()}, len(lines)


def trec(lists: Sequence[Listing], negatives: int) -> tuple[Files, int]:
    """A TREC run of everything that the teacher scored: query id, Q0, passage id, rank, score, tag.

    Raises:
        ValueError: An id holds a space, which would make it two columns.
    """
    lines = []
    for each in lists:
        ranked = sorted((*each.positives, *each.negatives, *each.others), key=lambda one: (-one.logit, one.id))
        for rank, passage in enumerate(ranked, 1):
            for name in (each.id, passage.id):
                if len(name.split()) != 1:
                    raise ValueError(f"the id {name!r} holds a space: in a TREC run it would be two columns")
            lines.append(f"{each.id} Q0 {passage.id} {rank} {passage.logit!r} remine\n")
    return {"": "".join(lines).encode("utf-8")}, len(lists)


WRITERS: dict[str, Writer] = {
    "sentence-transformers": sentence_transformers,
    "flagembedding": flagembedding,
    "colbert": colbert,
    "tevatron": tevatron,
    "trec": trec,
}
FIXED = ("sentence-transformers", "colbert")  # every list has the same length
SUFFIXES = {"flagembedding": (".jsonl", ".json")}  # files of other names are passed over without a word


def _ways(lists: Iterable[Listing], negatives: int) -> Iterable[tuple[Listing, list[Passage]]]:
    """Each positive with the first negatives of its query; a query with fewer of them is left out."""
    for each in lists:
        if len(each.negatives) >= negatives:
            for positive in each.positives:
                yield each, [positive, *each.negatives[:negatives]]


def _usable(lists: Iterable[Listing]) -> list[Listing]:
    return [each for each in lists if each.positives and each.negatives]


def _columns(way: Sequence[Passage]) -> dict[str, str]:
    names = ["positive", *(f"negative_{number}" for number in range(1, len(way)))]
    return {name: passage.text for name, passage in zip(names, way, strict=True)}


def _document(passage: Passage) -> dict[str, str]:
    return {"docid": passage.id, "title": "", "text": passage.text}


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _json_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")
