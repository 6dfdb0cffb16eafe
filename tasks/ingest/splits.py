"""Settle which split every query text belongs to, and which labels leave because of it."""

from collections.abc import Sequence
from hashlib import blake2b

import polars as pl

from tasks.ingest.complaints import CorpusError
from tasks.ingest.wording import counted

FIRST_TO_LAST = ("test", "guard", "dev", "train")  # a text in two splits stays in the one that is looked at least
POINTS = 1 << 32


def settle_splits(judged: pl.DataFrame, dev_share: float) -> tuple[pl.DataFrame, list[str]]:
    """Give every query text one split; make dev out of train where the source has none.

    Pairs that were made out of passages become dev only where no label of train was given.

    A text in two splits stays in test before guard before dev before train, and its labels in the other leave:
    train must not know what is measured, and dev must not choose by what test measures.

    Args:
        judged: query_hash, grade, source, split ("" counts as train) and any other columns.
        dev_share: Share of train query texts that become dev where there is no dev label.

    Returns:
        The labels that stay, with their split, and what the user should know.

    Raises:
        CorpusError: Nothing is left to train on, or nothing to choose by.
    """
    judged = judged.with_columns(pl.col("split").replace("", "train"))
    has_dev = (judged["split"] == "dev").any()
    kept, notes = _one_split_per_text(judged)
    if not has_dev:
        kept, note = _dev_from_train(kept, dev_share)
        notes.append(note)
    for split, needed in (("train", "to learn from"), ("dev", "to choose checkpoints and settings by")):
        if not ((kept["split"] == split) & (kept["grade"] > 0)).any():
            raise CorpusError(f"no query of {split} has a label with a grade above 0, so there is nothing {needed}")
    if not (kept["split"] == "test").any():
        notes.append("no test split: every measure is of dev, which also chooses, so it will look too good")
    return kept, notes


def _one_split_per_text(judged: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    order = pl.col("split").replace_strict({split: place for place, split in enumerate(FIRST_TO_LAST)})
    ranked = judged.with_columns(order.alias("place")).with_columns(
        pl.col("place").min().over("query_hash").alias("winner")
    )
    leaving = ranked.filter(pl.col("place") != pl.col("winner"))
    moves = leaving.group_by("place", "winner").agg(pl.col("query_hash").n_unique().alias("texts"), pl.len().alias("n"))
    notes = [
        f"{counted(texts, 'query text')} of {FIRST_TO_LAST[place]} also in {FIRST_TO_LAST[winner]}: "
        f"{counted(labels, 'label')} left {FIRST_TO_LAST[place]}"
        for place, winner, texts, labels in moves.sort("place", "winner", descending=True).iter_rows()
    ]
    return ranked.filter(pl.col("place") == pl.col("winner")).drop("place", "winner"), notes


def _dev_from_train(judged: pl.DataFrame, share: float) -> tuple[pl.DataFrame, str]:
    train = judged.filter(pl.col("split") == "train")
    given = train.filter(pl.col("source") == "given")
    made = "" if given.height else ", of pairs that were made out of the passages: they say little of real questions"
    names: list[int] = (given if given.height else train)["query_hash"].unique().to_list()
    moved = [name for name in names if point(name) < share]
    note = f"no dev split: {len(moved):,} of {counted(len(names), 'train query')} became dev, chosen by hash{made}"
    chosen = (pl.col("split") == "train") & pl.col("query_hash").is_in(moved)
    return judged.with_columns(pl.when(chosen).then(pl.lit("dev")).otherwise("split").alias("split")), note


def point(query_hash: int) -> float:
    """Place a query text between 0 and 1, by its hash alone: it stays where it is when other queries come and go."""
    named = query_hash.to_bytes(8, "little", signed=True)
    digest = blake2b(named, digest_size=4, person=b"remine-dev").digest()
    return int.from_bytes(digest, "little") / POINTS


def leak_notes(labels: pl.DataFrame, splits: Sequence[str] = ("dev", "test")) -> list[str]:
    """Say how many measured queries have no positive at all, or only positives that train is taught too."""
    positive = labels.filter(pl.col("grade") > 0)
    taught = positive.filter(pl.col("split") == "train")["passage_hash"].unique().to_list()
    notes = []
    for split in splits:
        measured = labels.filter(pl.col("split") == split)["query_hash"].n_unique()
        found = positive.filter(pl.col("split") == split).group_by("query_hash")
        answered = found.agg(pl.col("passage_hash").is_in(taught).all().alias("known"))
        known = int(answered["known"].sum())
        if len(answered) < measured:
            notes.append(
                f"{measured - len(answered):,} of {counted(measured, f'{split} query')} without a label above grade 0"
            )
        if known:
            notes.append(
                f"{known:,} of {counted(measured, f'{split} query')} with only positives that train queries "
                "are labelled with too: part of the measure is memory of passages"
            )
    return notes
