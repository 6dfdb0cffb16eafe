"""Look at a user's data before anything is trained on it: `remine init`."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from tasks.ingest.assemble import Corpus, assemble
from tasks.ingest.corpus import collect
from tasks.ingest.guess import guess_columns, sample_rows
from tasks.ingest.huggingface import load_tables
from tasks.ingest.lengths import Lengths, lengths_of, long_passages
from tasks.ingest.scripts import WITHOUT_SPACES
from tasks.ingest.settings import Columns, Source, detect, pair_files
from tasks.ingest.wording import counted

WIDTH = 100  # characters of a line in the terminal
FEW_PAIRS = 1000  # train labels below which a teacher trained on them seldom beats the student
FEW_QUERIES = 100  # dev queries below which two checkpoints can hardly be told apart
KINDS = {"beir": "a BEIR folder", "pairs": "pairs of query and passage", "huggingface": "a Hugging Face data set"}


@dataclass(frozen=True)
class Look:
    """What was found in a user's data.

    Attributes:
        source: Settings that ingest reads the data with.
        facts: Counts and shares of scripts, as ingest will write them.
        lengths: Lengths of queries and passages.
        positives: Per split, the mean and the largest number of positives of a query.
        guesses: Guesses to look at.
        warnings: What will limit the result, and what to do about it.
    """

    source: Source
    facts: Mapping[str, Any]
    lengths: Mapping[str, Lengths]
    positives: Mapping[str, tuple[float, int]]
    guesses: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    def text(self) -> str:
        """The findings for a terminal."""
        blocks = [
            f"{self.source.path}: {KINDS[self.source.kind]}",
            "\n".join(self._counts()),
            "\n".join(self._lengths()),
            f"  scripts    {_shares(self.facts['scripts'])}",
        ]
        if self.source.kind != "beir":
            columns = (f"{role} = {name!r}" for role, name in self.source.columns.named().items())
            blocks.append("  columns    " + ", ".join(columns))
        for title, notes in (("Please check", self.guesses), ("To know", self.warnings)):
            if notes:
                blocks.append("\n".join([title, *map(_wrapped, notes)]))
        return "\n\n".join(blocks)

    def _counts(self) -> list[str]:
        counts = self.facts["counts"]
        lines = [f"  passages   {counts['passages']:>9,}   {_duplicates(counts['duplicate_passages'])}".rstrip()]
        lines.append(f"  queries    {sum(counts['queries'].values()):>9,}   {_duplicates(counts['duplicate_queries'])}")
        lines[-1] = lines[-1].rstrip()
        for split, queries in counts["queries"].items():
            lines.append(f"    {split:<10} {queries:>7,}   {self._labels(split)}".rstrip())
        return lines

    def _labels(self, split: str) -> str:
        if split not in self.positives:
            return ""
        mean, most = self.positives[split]
        labels = counted(self.facts["counts"]["labels"][split], "label")
        return f"{labels}, {mean:.1f} positives a query (at most {most:,})"

    def _lengths(self) -> list[str]:
        lines = [f"  {'':<24}{'5 %':>9}{'median':>9}{'95 %':>9}{'longest':>9}"]
        for role, lengths in self.lengths.items():
            for unit, values in (("characters", lengths.characters), ("words", lengths.words)):
                lines.append(f"  {role + ', ' + unit:<24}" + "".join(f"{value:>9,}" for value in values))
        return lines


def look(path: Path) -> Look:
    """Read a user's file or folder as ingest would, guessing the columns of pairs.

    Raises:
        FileNotFoundError: Nothing lies there.
        CorpusError: Ingest would refuse the data; the message says why.
        ValueError: It has none of the shapes that can be read.
    """
    path = path.expanduser()
    kind = detect(path)
    tables = load_tables(str(path), "") if kind == "huggingface" else {}
    columns, guesses = _columns(path, kind, tables)
    source = Source(path=str(path), kind=kind, columns=columns)
    corpus = assemble(collect(source, tables), source.dev_share, source.chunk, source.pairs)
    return Look(
        source=source,
        facts=corpus.facts,
        lengths={
            "passages": lengths_of(corpus.passages["text"]),
            "queries": lengths_of(corpus.queries["text"]),
        },
        positives=_positives(corpus.labels),
        guesses=tuple(guesses),
        warnings=(*corpus.facts["warnings"], *_warnings(corpus)),
    )


def _columns(path: Path, kind: str, tables: Mapping[str, Any]) -> tuple[Columns, list[str]]:
    if kind == "beir":
        return Columns(), []
    if kind == "huggingface":
        name, table = next(iter(tables.items()))
        columns, notes = guess_columns(
            f"{path}[{name}]", table.column_names, list(table.select(range(min(1000, len(table)))))
        )
        named_splits = len(tables) > 1 or name != ""
    else:
        file, split = pair_files(path)[0]
        columns, notes = guess_columns(str(file), *sample_rows(file))
        named_splits = split != ""
    return (columns.model_copy(update={"split": ""}) if named_splits else columns), notes


def _positives(labels: pl.DataFrame) -> dict[str, tuple[float, int]]:
    per_query = labels.group_by("split", "query_hash").agg((pl.col("grade") > 0).sum().alias("n"))
    rows = per_query.group_by("split").agg(pl.col("n").mean().alias("mean"), pl.col("n").max().alias("most"))
    return {split: (float(mean), int(most)) for split, mean, most in rows.iter_rows()}


def _warnings(corpus: Corpus) -> list[str]:
    counts, notes = corpus.facts["counts"], []
    pairs, dev = counts["positives"]["train"], counts["queries"]["dev"]
    if pairs < FEW_PAIRS:
        notes.append(
            f"only {counted(pairs, 'labelled train pair')}: a teacher trained on fewer than {FEW_PAIRS:,} seldom beats "
            "the student, so name a ready one under [teacher]"
        )
    if dev < FEW_QUERIES:
        notes.append(
            f"only {counted(dev, 'dev query')}: with fewer than {FEW_QUERIES} the best checkpoint is partly luck"
        )
    limit, long = long_passages(corpus.passages["text"])
    if long:
        notes.append(
            f"{counted(long, 'passage')} of {counts['passages']:,} longer than {limit} words: what is beyond the "
            "student's maximum length is not seen, so cut them into parts or choose a student with a longer one"
        )
    unspaced = sum(share for script, share in corpus.facts["scripts"].items() if script in WITHOUT_SPACES)
    if unspaced > 0.1:
        notes.append(f"{unspaced:.0%} of the letters in scripts without spaces: BM25 will use pairs of characters")
    return notes


def _wrapped(note: str) -> str:
    return textwrap.fill(note, WIDTH, initial_indent="  ! ", subsequent_indent="    ", break_long_words=False)


def _duplicates(number: int) -> str:
    return f"({counted(number, 'duplicate')} merged)" if number else ""


def _shares(scripts: Mapping[str, float]) -> str:
    shown = [f"{script} {share:.1%}" for script, share in scripts.items() if share >= 0.001]
    return ", ".join(shown) or "no letters at all"
