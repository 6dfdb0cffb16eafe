"""Which passages can never be mined for a query, whatever their rank."""

import math
import unicodedata

import polars as pl

WHY = ("positive", "duplicate", "own text", "same document")


def plain_form(text: str) -> str:
    """What two texts share that differ only in case, spacing or Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def train_queries(
    queries: pl.DataFrame, labels: pl.DataFrame, share: float = 1.0, unlabelled: bool = False
) -> pl.DataFrame:
    """The train queries that have a positive, with their rows: `row, hash, text`, in row order.

    Args:
        queries: `hash, text, split`, row-aligned with the query vectors.
        labels: `query_hash, passage_hash, grade, split`.
        share: Of them, those with the smallest hashes; at least one.
        unlabelled: Also those that belong to no split, because nobody labelled them.

    Raises:
        ValueError: A train label belongs to a query of another split; mining it would train on the test.
    """
    positives = labels.filter(pl.col("grade") > 0)
    astray = (
        labels.filter(pl.col("split") == "train")
        .join(queries, left_on="query_hash", right_on="hash", suffix="_of_query")
        .filter(pl.col("split_of_query") != "train")
    )
    if astray.height:
        text, split = astray.row(0, named=True)["text"], astray.row(0, named=True)["split_of_query"]
        raise ValueError(
            f"{astray.height} train labels belong to queries of other splits, first {text[:80]!r} of {split!r}; "
            "training on them would make every measure on that split worthless"
        )
    has_positive = pl.col("hash").is_in(positives["query_hash"].unique().implode())
    asked = (pl.col("split") == "train") & has_positive
    found = (
        queries.with_row_index("row")
        .filter(asked | (pl.col("split") == "") if unlabelled else asked)
        .select(pl.col("row").cast(pl.Int64), "hash", "text")
    )
    return found.sort("hash").head(math.ceil(share * found.height)).sort("row")


def excluded_rows(
    mined: pl.DataFrame, passages: pl.DataFrame, labels: pl.DataFrame, known: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Rows of passages that are out of the question: known positives, their duplicates, the query's own text.

    Where documents were cut, so is every other passage of a document that is labelled a positive.

    A duplicate differs from the positive only in case, spacing or Unicode form.

    Args:
        mined: `row, hash, text` of the queries.
        passages: `hash, text`, row-aligned with the passage vectors.
        labels: `query_hash, passage_hash, grade, split`.
        known: All passages of positive documents, `query_hash, passage_hash`; None where no document was cut.

    Returns:
        `query_row, passage_row, why` (see WHY), each pair once.
    """
    plain = passages.with_row_index("passage_row").select(
        pl.col("passage_row").cast(pl.Int64), "hash", plain=plain_forms(passages["text"])
    )
    positives = (
        labels.filter(pl.col("grade") > 0)
        .join(mined.select(query_row="row", query_hash="hash"), on="query_hash")
        .join(plain, left_on="passage_hash", right_on="hash")
    )
    positive = positives.select("query_row", "passage_row", why=pl.lit("positive"))
    same = positives.select("query_row", "plain").join(plain, on="plain")
    own = mined.select(query_row="row", plain=plain_forms(mined["text"])).join(plain, on="plain")
    duplicates = same.select("query_row", "passage_row", why=pl.lit("duplicate"))
    own_text = own.select("query_row", "passage_row", why=pl.lit("own text"))
    found = [positive, duplicates, own_text]
    if known is not None:
        inside = known.join(mined.select(query_row="row", query_hash="hash"), on="query_hash")
        inside = inside.join(plain, left_on="passage_hash", right_on="hash")
        found.append(inside.select("query_row", "passage_row", why=pl.lit("same document")))
    return pl.concat(found).unique(["query_row", "passage_row"], keep="first", maintain_order=True)


def plain_forms(texts: pl.Series) -> pl.Series:
    """The plain form of each text, as the series `plain`."""
    return pl.Series("plain", [plain_form(text) for text in texts], dtype=pl.String)
