"""Training lists as arrays: what training draws from, read from artifacts and never from the warehouse."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.lists import Role, TrainingLists
from models.student import Student
from tasks.artifacts import Artifact
from tasks.documents import known_passages

KEYS = ["query_hash", "passage_hash"]


@dataclass(frozen=True)
class Texts:
    """The corpus as rows: hashes in their sorted order, and the texts beside them."""

    queries: pl.DataFrame  # hash, text, split
    passages: pl.DataFrame  # hash, text

    @classmethod
    def read(cls, corpus: Artifact) -> "Texts":
        """Read the distinct texts of a corpus."""
        return cls(pl.read_parquet(corpus.file("queries.parquet")), pl.read_parquet(corpus.file("passages.parquet")))

    def query_rows(self, hashes: pl.Series) -> NDArray[np.int64]:
        """Rows of queries by hash."""
        return _rows(self.queries["hash"], hashes, "query")

    def passage_rows(self, hashes: pl.Series) -> NDArray[np.int64]:
        """Rows of passages by hash."""
        return _rows(self.passages["hash"], hashes, "passage")


def labelled_lists(corpus: Artifact) -> pl.DataFrame:
    """The labels of train alone, as verdicts: `query_hash, passage_hash, verdict, weight, judgement`."""
    labels = pl.read_parquet(corpus.file("labels.parquet"))
    positives = labels.filter((pl.col("split") == "train") & (pl.col("grade") > 0)).select(KEYS).unique().sort(KEYS)
    return positives.with_columns(
        verdict=pl.lit("positive"), weight=pl.lit(1.0, pl.Float32), judgement=pl.lit(None, pl.Float32)
    )


def training_lists(
    corpus: Artifact, verdicts: pl.DataFrame, student: Student, earlier: Sequence[pl.DataFrame] = ()
) -> TrainingLists:
    """Lay judged lists out for training.

    A pair of weight 0 is used for nothing: it is not in a list, and no batch takes it for a negative. The same holds
    of pairs that the teacher approved of, or could not tell, in an earlier round. Pairs that nobody judged stay
    negatives.

    Args:
        corpus: Texts and labels.
        verdicts: `query_hash, passage_hash, verdict, weight, judgement`.
        student: Whose tokens the texts become.
        earlier: Verdicts of earlier rounds, the newest first; a newer verdict on a pair replaces an older one, and
            texts that have left the corpus since count for nothing.

    Raises:
        ValueError: A list belongs to a query outside train, or no list has a positive.
    """
    texts = Texts.read(corpus)
    _only_train(verdicts, texts)
    judged, verdicts = verdicts, verdicts.filter(pl.col("query_hash").is_in(_with_positive(verdicts).implode()))
    if not verdicts.height:
        raise ValueError(f"{corpus.path}: no train query has a positive, so there is nothing to learn from")
    listed = verdicts.filter(pl.col("weight") > 0).sort("query_hash", maintain_order=True)
    rows = texts.query_rows(listed["query_hash"])
    queries, counts = np.unique(rows, return_counts=True)
    # Beside the corpus' own positives those that people or the teacher found, also where no list holds them.
    found = judged.filter(pl.col("verdict").is_in(["positive", "promoted"]))
    return TrainingLists(
        query_tokens=student.tokenize_queries(texts.queries["text"].gather(queries).to_list()),
        passage_tokens=student.tokenize_passages(texts.passages["text"].to_list()),
        queries=queries.astype(np.int64),
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        passages=texts.passage_rows(listed["passage_hash"]),
        roles=_roles(listed["verdict"]),
        targets=listed["judgement"].cast(pl.Float32).fill_null(float("nan")).to_numpy().astype(np.float32),
        known=pair_keys(texts, pl.concat([positive_pairs(corpus), found.select(KEYS)])),
        approved=pair_keys(texts, _there(barred_pairs([judged, *earlier]), texts)),
    )


def barred_pairs(verdicts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Pairs that a teacher approved of or could not tell, by the first of these verdicts that knows them: the keys."""
    seen = [each.select(*KEYS, "verdict").filter(pl.col("verdict") != "unscored") for each in verdicts]
    newest = pl.concat(seen).unique(KEYS, keep="first", maintain_order=True)
    return newest.filter(pl.col("verdict").is_in(["approved", "ambiguous"])).select(KEYS)


def _there(pairs: pl.DataFrame, texts: Texts) -> pl.DataFrame:
    """Pairs of texts that the corpus has: verdicts of an earlier state of it name texts that have left since."""
    queries, passages = texts.queries.select("hash"), texts.passages.select("hash")
    known = pairs.join(queries, left_on="query_hash", right_on="hash", how="semi")
    return known.join(passages, left_on="passage_hash", right_on="hash", how="semi")


def positive_pairs(corpus: Artifact) -> pl.DataFrame:
    """Every labelled positive of a train query, with all passages of its document: `query_hash, passage_hash`."""
    known = known_passages(corpus).join(labelled_lists(corpus), on="query_hash", how="semi")
    return pl.concat([labelled_lists(corpus).select(KEYS), known.select(KEYS)]).unique(maintain_order=True)


def pair_keys(texts: Texts, pairs: pl.DataFrame) -> NDArray[np.int64]:
    """Pairs as sorted `query row * P + passage row`, (n,)."""
    keys = texts.query_rows(pairs["query_hash"]) * texts.passages.height + texts.passage_rows(pairs["passage_hash"])
    return np.unique(keys).astype(np.int64)


def _roles(verdicts: pl.Series) -> NDArray[np.int8]:
    roles = {"positive": Role.POSITIVE, "promoted": Role.POSITIVE, "negative": Role.NEGATIVE, "approved": Role.SOFT}
    return np.asarray([roles[verdict] for verdict in verdicts], dtype=np.int8)


def _with_positive(verdicts: pl.DataFrame) -> pl.Series:
    positive = (pl.col("weight") > 0) & pl.col("verdict").is_in(["positive", "promoted"])
    return verdicts.filter(positive)["query_hash"].unique()


def _only_train(verdicts: pl.DataFrame, texts: Texts) -> None:
    split = verdicts.select(hash="query_hash").unique().join(texts.queries, on="hash", how="left")
    astray = split.filter(~pl.col("split").is_in(["train", ""]).fill_null(False))
    if astray.height:
        raise ValueError(
            f"{astray.height} lists belong to queries outside train (first: {astray['text'][0]!r}); training on them "
            "would make every measure of dev and test worthless"
        )


def _rows(known: pl.Series, wanted: pl.Series, kind: str) -> NDArray[np.int64]:
    hashes, asked = known.to_numpy(), wanted.to_numpy()
    rows: NDArray[np.int64] = np.minimum(np.searchsorted(hashes, asked), max(len(hashes) - 1, 0)).astype(np.int64)
    missing = hashes[rows] != asked if len(asked) else np.zeros(0, dtype=bool)
    if missing.any():
        raise ValueError(
            f"{int(missing.sum())} pairs name a {kind} text that the corpus does not have (hash {asked[missing][0]}); "
            "they belong to another corpus"
        )
    return rows
