"""Turn a checked collection into the corpus: distinct texts by hash, their ids, labels and facts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from tasks.ingest.checks import check
from tasks.ingest.chunks import cut_passages, learnt_from
from tasks.ingest.collection import PLACE, Collection
from tasks.ingest.complaints import Complaints
from tasks.ingest.made import made_judgements, make_pairs, with_made
from tasks.ingest.scripts import script_shares
from tasks.ingest.settings import SPLITS, Chunk, Made
from tasks.ingest.splits import leak_notes, settle_splits
from tasks.ingest.wording import counted
from warehouse.texts import passage_text, text_hash


@dataclass(frozen=True)
class Corpus:
    """What the artifact holds; texts are named by their 64-bit hashes.

    Attributes:
        passages: hash, text; one row per distinct text, sorted by hash.
        passage_ids: external_id, title, hash, document (the id in the source; another than the passage's own where
            the document was cut); in the order of the file.
        queries: hash, text, split ("" where nothing of it is labelled); one row per distinct text, sorted by hash.
        query_ids: external_id, hash, split ("" where none of the id's labels stayed); in the order of the file.
        labels: query_hash, passage_hash, grade, split, source; sorted. Of a cut corpus, passage_hash is the passage of
            the labelled document that is learnt from.
        facts: Counts, shares of scripts, warnings.
        documents: Of a cut corpus: document_hash, passage_hash, position; else None.
        judgements: Of a cut corpus: the labels as they were given, passage_hash being the document's; else None.
    """

    passages: pl.DataFrame
    passage_ids: pl.DataFrame
    queries: pl.DataFrame
    query_ids: pl.DataFrame
    labels: pl.DataFrame
    facts: dict[str, Any]
    documents: pl.DataFrame | None = None
    judgements: pl.DataFrame | None = None

    def write(self, folder: Path) -> None:
        """Write the tables there are as Parquet files into an existing folder."""
        for name in ("passages", "passage_ids", "queries", "query_ids", "labels", "documents", "judgements"):
            frame: pl.DataFrame | None = getattr(self, name)
            if frame is not None:
                frame.write_parquet(folder / f"{name}.parquet", compression="zstd")


def assemble(
    collection: Collection, dev_share: float | None, chunk: Chunk | None = None, pairs: Made | None = None
) -> Corpus:
    """Check a collection and make the corpus of it: documents are cut, and pairs made, where the source says so.

    Args:
        collection: What was read.
        dev_share: Share of train queries that become dev where there is none; None: nothing is trained, and every label
            stays in its split.
        chunk: How long the passages are that documents are cut into; None: every document is one passage.
        pairs: How training queries are made out of passages; None: there are those that were given.

    Raises:
        CorpusError: The parts do not fit together, two texts share a hash, or a split that is needed is empty.
    """
    check(collection)
    documents = _hashed(collection.passages)
    parts = cut_passages(collection.passages.with_columns(documents["hash"]), chunk)
    answers = _hashed(make_pairs(parts, pairs)) if pairs else None
    query_ids = _hashed(collection.queries if answers is None else with_made(collection.queries, answers))
    for texts, role in ((documents, "passage"), (query_ids, "query")):
        distinct(texts, role)  # before anything is joined by hash
    judged = collection.judgements.with_columns(source=pl.lit("given"))
    if answers is not None:
        judged = pl.concat([judged, made_judgements(answers, str(pairs))], how="diagonal")
    named = _named(judged, query_ids, documents)
    kept, notes = (named, []) if dev_share is None else settle_splits(named, dev_share)
    labels, merged = _merge(kept)
    corpus = _in_parts(_hashed(parts), answers, query_ids, (kept, labels))
    if chunk is None and answers is None:
        corpus = replace(corpus, documents=None, judgements=None)
    notes = [*collection.notes, *_duplicate_notes(corpus), *notes, *merged, *leak_notes(labels)]
    corpus.facts.update(counts=_counts(corpus), scripts=script_shares(corpus.passages["text"]), warnings=notes)
    return corpus


def _in_parts(
    parts: pl.DataFrame,
    answers: pl.DataFrame | None,
    query_ids: pl.DataFrame,
    judged: tuple[pl.DataFrame, pl.DataFrame],
) -> Corpus:
    """Put the tables together.

    Args:
        parts: `external_id, title, text, hash, document, document_hash, position`.
        answers: The same of what made queries are answered by, and their `query_id`; None where none were made.
        query_ids: `external_id, text, hash`.
        judged: Labels that stayed, by ids and by hashes; passage_hash is the document's.
    """
    kept, labels = judged
    id_splits = kept.select(external_id="query_id", split="split").unique()
    query_splits = labels.select(hash="query_hash", split="split").unique()
    queries = _with_split(distinct(query_ids, "query"), query_splits, "hash").select("hash", "text", "split")
    every = parts if answers is None else pl.concat([parts, answers], how="diagonal")
    inside = every.select("document_hash", "position", "text", passage_hash="hash")
    inside = inside.unique(["document_hash", "passage_hash"], keep="first", maintain_order=True)
    return Corpus(
        passages=distinct(every, "passage"),
        passage_ids=every.select("external_id", "title", "hash", "document"),
        queries=queries,
        query_ids=_with_split(query_ids, id_splits, "external_id").select("external_id", "hash", "split"),
        labels=_learnt(labels, queries, inside.filter(pl.col("position").is_not_null()), answers, query_ids),
        facts={},
        documents=inside.select("document_hash", "passage_hash", "position").sort("document_hash", "position"),
        judgements=labels,
    )


def _learnt(
    labels: pl.DataFrame, queries: pl.DataFrame, inside: pl.DataFrame, answers: pl.DataFrame | None, ids: pl.DataFrame
) -> pl.DataFrame:
    """Labels on passages: of a given label the part that shares most with the query, of a made one its own answer."""
    learnt = learnt_from(labels.filter(pl.col("source") == "given"), queries, inside)
    if answers is None:
        return learnt
    named = answers.select("document_hash", passage="hash", external_id="query_id").join(ids, on="external_id")
    own = named.select(pl.col("hash").alias("query_hash"), pl.col("document_hash").alias("passage_hash"), "passage")
    made = labels.filter(pl.col("source") != "given").join(own.unique(), on=["query_hash", "passage_hash"])
    made = made.with_columns(passage_hash="passage").select(learnt.columns)
    both = pl.concat([learnt, made]).unique(["query_hash", "passage_hash"], keep="first", maintain_order=True)
    return both.sort("query_hash", "passage_hash")


def _named(judged: pl.DataFrame, query_ids: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Judgements with the hashes of their texts."""
    return (
        judged.join(query_ids.select(query_id="external_id", query_hash="hash"), on="query_id")
        .join(documents.select(passage_id="external_id", passage_hash="hash"), on="passage_id")
        .select("query_id", "query_hash", "passage_hash", "grade", "split", "source")
    )


def distinct(texts: pl.DataFrame, role: str) -> pl.DataFrame:
    """One row (hash, text) per distinct text, sorted by hash.

    Raises:
        CorpusError: Two different texts have the same hash.
    """
    found = texts.unique(["hash", "text"], keep="first", maintain_order=True)
    complaints = Complaints()
    for row in found.filter(pl.col("hash").is_duplicated()).with_columns(PLACE).iter_rows(named=True):
        what = f"{role} {row['external_id']!r} has the hash {row['hash']} of another text: {row['text'][:40]!r}"
        complaints.add("collision", row["place"], what)
    complaints.refuse()
    return found.select("hash", "text").sort("hash")


def _hashed(texts: pl.DataFrame) -> pl.DataFrame:
    """Texts as models see them, with their hashes."""
    if "title" in texts.columns:
        whole = list(map(passage_text, texts["title"], texts["text"]))
        texts = texts.with_columns(pl.Series("text", whole, dtype=pl.String))
    return texts.with_columns(pl.Series("hash", [text_hash(text) for text in texts["text"]], dtype=pl.Int64))


def _with_split(frame: pl.DataFrame, splits: pl.DataFrame, key: str) -> pl.DataFrame:
    return frame.join(splits, on=key, how="left", maintain_order="left").with_columns(pl.col("split").fill_null(""))


def _merge(judged: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """One label per pair of texts; where ids of equal texts were graded differently, the highest grade."""
    given_first = judged.sort(pl.col("source") != "given", maintain_order=True)
    pairs = given_first.group_by("query_hash", "passage_hash", "split", maintain_order=True).agg(
        pl.col("grade").max(), pl.col("grade").n_unique().alias("grades"), pl.col("source").first()
    )
    torn = pairs.filter(pl.col("grades") > 1).height
    note = f"{counted(torn, 'pair')} of equal texts under several ids with several grades: the highest counts"
    labels = pairs.select("query_hash", "passage_hash", pl.col("grade").cast(pl.Int32), "split", "source")
    return labels.sort("query_hash", "passage_hash"), [note] if torn else []


def _duplicate_notes(corpus: Corpus) -> list[str]:
    notes = []
    for ids, texts, role in (
        (corpus.passage_ids, corpus.passages, "passage"),
        (corpus.query_ids, corpus.queries, "query"),
    ):
        extra = ids.height - texts.height
        if extra:
            notes.append(
                f"{extra:,} of {counted(ids.height, f'{role} id')} with the text of another id: one {role} each"
            )
    return notes


def _counts(corpus: Corpus) -> dict[str, Any]:
    positive = corpus.labels.filter(pl.col("grade") > 0)
    cut = {} if corpus.documents is None else {"documents": corpus.documents["document_hash"].n_unique()}
    return {
        **cut,
        "passages": corpus.passages.height,
        "passage_ids": corpus.passage_ids.height,
        "duplicate_passages": corpus.passage_ids.height - corpus.passages.height,
        "queries": _per_split(corpus.queries, (*SPLITS, "")),
        "query_ids": corpus.query_ids.height,
        "duplicate_queries": corpus.query_ids.height - corpus.queries.height,
        "labels": _per_split(corpus.labels, SPLITS),
        "positives": _per_split(positive, SPLITS),
    }


def _per_split(frame: pl.DataFrame, splits: Sequence[str]) -> dict[str, int]:
    counts = dict(frame.group_by("split").len().iter_rows())
    return {split or "unlabelled": int(counts[split]) for split in splits if split in counts}
