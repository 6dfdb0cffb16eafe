"""What to ingest: where it lies, what shape it has, and which file or column is which."""

import re
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.settings import Roles, Settings

Kind = Literal["auto", "beir", "pairs", "huggingface"]
Made = Literal["cloze", "title"]
SPLITS = ("train", "dev", "test", "guard")
SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "dev": "dev",
    "val": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
    "guard": "guard",
}
PAIR_SUFFIXES = (".jsonl", ".csv", ".parquet")
SHARD = re.compile(rf"({'|'.join(SPLIT_NAMES)})-[0-9]+-of-[0-9]+", re.IGNORECASE)  # as the hub names a split's files


class Columns(Roles):
    """Which column of a pairs file or data set is which; an empty name means there is none."""

    query: str = Field("query", min_length=1, description="Column with the query's text.")
    passage: str = Field("passage", min_length=1, description="Column with the passage's text.")
    title: str = Field("", description="Column with the passage's title.")
    grade: str = Field(
        "", description="Column with whole-number grades, 0 for not relevant; without it every row is 1."
    )
    split: str = Field("", description="Column that says train, dev (or validation), test or guard.")
    query_id: str = Field("", description="Column with the query's id; without it the id is made from the text.")
    passage_id: str = Field("", description="Column with the passage's id; without it the id is made from the text.")


class Chunk(Settings):
    """How documents are cut into passages.

    Tokens are words, punctuation marks, and characters of scripts without spaces; a model's own tokens are about a
    third more. Titles are not counted: every passage has its document's.
    """

    tokens: int = Field(180, ge=1, description="Most tokens of a passage, without the title.")
    overlap: int = Field(30, ge=0, description="Tokens that a passage shares with the one before.")

    @model_validator(mode="after")
    def _moves_on(self) -> Self:
        if self.overlap >= self.tokens:
            raise ValueError(
                f"an overlap of {self.overlap} tokens leaves nothing new in a passage of {self.tokens}; "
                "the document would never end"
            )
        return self


class Source(Settings):
    """A user's data: a BEIR folder, a pairs file, or a Hugging Face data set."""

    path: str = Field(min_length=1, description="Folder, file, or (kind huggingface) the id of a data set.")
    kind: Kind = Field("auto", description="beir, pairs or huggingface; auto looks at what lies at the path.")
    name: str = Field("", description="Name of the corpus in the warehouse; by default the last part of the path.")
    qrels: dict[str, str] = Field(
        {},
        description="BEIR: label file per split, beside the default qrels/train.tsv, dev.tsv and test.tsv; "
        "an empty name leaves a split out.",
    )
    columns: Columns = Field(Columns(), description="Pairs and data sets: which column is which.")
    config: str = Field("", description="Hugging Face: the configuration of the data set, where it has several.")
    dev_share: float = Field(0.2, gt=0, lt=1, description="Share of train queries that become dev where there is none.")

    chunk: Chunk | None = Field(
        None,
        description="Cut documents into passages of so many tokens; labels stay on documents, and a document is found "
        "by its best passage. Without it every text is one passage, and what a model can't read of it is cut off.",
    )

    pairs: Made | None = Field(
        None,
        description="Also make train queries out of the passages themselves, for data with few labels or none. cloze: "
        "a passage is cut in two, and the shorter piece, of 64 words at most, asks for the other. title: a title asks "
        "for its text. Where there are labels, dev and test are theirs alone.",
    )

    @model_validator(mode="after")
    def _splits_are_known(self) -> Self:
        for split in self.qrels:
            if split not in SPLITS:
                raise ValueError(f"qrels names a split {split!r}; a label file can be for {', '.join(SPLITS)}")
        if self.qrels.get("train", "train.tsv") == "":
            raise ValueError("qrels leaves train out, and without train labels there is nothing to learn from")
        return self

    @property
    def corpus(self) -> str:
        """The corpus' name."""
        if self.name:
            return self.name
        path = Path(self.path).expanduser()
        if not path.exists():
            return self.path.rstrip("/").rsplit("/", 1)[-1]
        return path.resolve().stem if path.is_file() else path.resolve().name

    def resolved(self) -> "Source":
        """The same source with `auto` replaced by what lies at the path.

        Raises:
            FileNotFoundError: Nothing lies there.
            ValueError: What lies there has none of the shapes that can be read.
        """
        return self if self.kind != "auto" else self.model_copy(update={"kind": detect(Path(self.path).expanduser())})


class MeasuredSource(Source):
    """Data that systems are measured on and nothing is trained on: its labels become one split."""

    as_split: Literal["test", "guard"] = Field("test", description="The split that the labels become.")
    labels: Literal["", "test", "dev", "train"] = Field(
        "", description="Which labels; empty: those of test, where there are none of dev, else all."
    )

    @property
    def corpus(self) -> str:
        """The corpus' name: another one than that of the data that is trained on, whose labels it has in part."""
        return f"{super().corpus}:{self.as_split}"


def detect(path: Path) -> Kind:
    """Tell a BEIR folder, a pairs file or folder, and a Hugging Face data set (saved, or cloned from the hub) apart."""
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: no such file or folder; for a data set of the Hugging Face hub set source.kind = 'huggingface'"
        )
    if path.is_file():
        if ending(path) in PAIR_SUFFIXES:
            return "pairs"
        raise ValueError(f"{path}: cannot be read as pairs; needed one of {', '.join(PAIR_SUFFIXES)}")
    if (path / "corpus.jsonl").exists() or (path / "queries.jsonl").exists():
        return "beir"
    if any((path / name).exists() for name in ("dataset_dict.json", "dataset_info.json")):
        return "huggingface"
    if pair_files(path):
        return "pairs"
    if any(SHARD.fullmatch(item.stem) for item in (*path.iterdir(), *path.glob("*/*"))):
        return "huggingface"
    raise ValueError(
        f"{path}: needed a BEIR folder (corpus.jsonl, queries.jsonl, qrels/train.tsv), a Hugging Face data set, "
        "saved or cloned, or a folder of pairs named train.jsonl, dev.csv, test.parquet and the like"
    )


def pair_files(path: Path) -> list[tuple[Path, str]]:
    """The pairs files at a path with the split that each one's name says ("" for a single file)."""
    if path.is_file():
        return [(path, "")]
    if not path.is_dir():
        raise FileNotFoundError(f"{path}: no such file or folder; needed pairs as {', '.join(PAIR_SUFFIXES)}")
    named = [(item, SPLIT_NAMES.get(item.stem.lower())) for item in sorted(path.iterdir())]
    return [(item, split) for item, split in named if split is not None and ending(item) in PAIR_SUFFIXES]


def ending(path: Path) -> str:
    """What a file's name says of its format, in small letters: some programs write .CSV."""
    return path.suffix.lower()
