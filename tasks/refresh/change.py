"""What has changed in the data since a run: texts by their ids, labels by their pairs, and people's reviews."""

from pathlib import Path

import polars as pl

from tasks.artifacts import Artifact
from tasks.ingest.wording import counted
from tasks.refresh.before import Before, said_of
from tasks.settings import Settings

LABEL = ["query_hash", "passage_hash", "grade", "split"]


class Counts(Settings):
    """How many rows of one kind are new, have another text, or are gone."""

    new: int
    edited: int
    removed: int

    @property
    def any(self) -> bool:
        """Something changed."""
        return bool(self.new or self.edited or self.removed)

    def told(self, one: str) -> str:
        """In words, what is zero left out: 3 new passages, 1 edited passage."""
        named = (("new", self.new), ("edited", self.edited), ("removed", self.removed))
        return ", ".join(counted(number, f"{what} {one}") for what, number in named if number)


class Change(Settings):
    """What is different from the data of a run.

    Attributes:
        since: That run.
        passages: By external id.
        queries: By external id.
        labels: By pair of texts and grade: `removed` are retired, whether their passage left or they did.
        orphaned: Retired labels that the source still has, of passages that it no longer has.
        reviewed: People have said something new, or taken something back.
    """

    since: int
    passages: Counts
    queries: Counts
    labels: Counts
    orphaned: int
    reviewed: bool

    @property
    def nothing(self) -> bool:
        """Nothing changed."""
        return not (self.passages.any or self.queries.any or self.labels.any or self.reviewed)

    @property
    def sentence(self) -> str:
        """What changed, in words."""
        if self.nothing:
            return f"Nothing has changed since run {self.since}."
        retired = self.labels.removed
        told = [self.passages.told("passage"), self.queries.told("query"), counted(self.labels.new, "new label")]
        told += [f"{counted(retired, 'label')} retired" if retired else "", "new reviews" if self.reviewed else ""]
        return f"Since run {self.since}: {', '.join(part for part in told if part and not part.startswith('0 '))}."


class Unchanged(Settings):
    """A refresh that had nothing to do."""

    run: int
    sentence: str


def changed(before: Before, corpus: Artifact, reviewed: Artifact | None) -> Change:
    """Compare the data with that of the last run.

    Args:
        before: What was there.
        corpus: The data now.
        reviewed: What people have said by now.
    """
    return Change(
        since=before.last,
        passages=_ids(before.corpus, corpus, "passage_ids"),
        queries=_ids(before.corpus, corpus, "query_ids"),
        labels=_labels(before.corpus.file("labels.parquet"), corpus.file("labels.parquet")),
        orphaned=int(corpus.facts.get("retired", 0)),
        reviewed=said_of(reviewed) != before.reviewed,
    )


def _ids(before: Artifact, now: Artifact, name: str) -> Counts:
    old, new = (
        pl.read_parquet(corpus.file(f"{name}.parquet"), columns=["external_id", "hash"]) for corpus in (before, now)
    )
    both = old.join(new, on="external_id", suffix="_now")
    return Counts(
        new=new.height - both.height,
        edited=both.filter(pl.col("hash") != pl.col("hash_now")).height,
        removed=old.height - both.height,
    )


def _labels(before: Path, now: Path) -> Counts:
    old, new = (pl.read_parquet(path, columns=LABEL) for path in (before, now))
    return Counts(
        new=new.join(old, on=LABEL, how="anti").height, edited=0, removed=old.join(new, on=LABEL, how="anti").height
    )
