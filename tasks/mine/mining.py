"""Finding candidates: retrieve, take out what is known, count ranks, filter, pick, join."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.baseline.bm25 import tokenize
from tasks.mine.excluded import WHY
from tasks.mine.ground import Ground, retrievers
from tasks.mine.mapped import Rows
from tasks.mine.miners import Miners
from tasks.mine.near import NearDuplicates
from tasks.mine.retrieve import Retriever, fuse_miners, retrieve, unite
from tasks.mine.settings import Mining
from tasks.mine.window import FATES, KEPT, WIDENED, dropped, settle
from tasks.progress import progress

VERSION = 5
KEYS = ["query_hash", "passage_hash"]
SPAN = 16_384  # queries whose lists are in memory at once; each span reads the passages once
NEAR = "near duplicate"
COLUMNS = ["query_row", "passage_row", "rank", "similarity", "miner"]


def mine_candidates(root: Path, corpus: Artifact, miners: Miners, settings: Mining) -> Artifact:
    """Mine every train query that has a positive.

    Writes candidates.parquet (`query_hash, passage_hash, rank, student_score, miner`, by query and rank) and
    pairs.parquet (`query_hash, passage_hash`: candidates and labelled positives, each once).

    Args:
        root: Folder of all artifacts.
        corpus: passages, queries and labels.
        miners: The students there are, with their vectors of this corpus.
        settings: Who retrieves, window, filters and picks.

    Raises:
        ValueError: There is no train query with a positive, a train label belongs to another split, vectors are not
            those of this corpus, a threshold is on another scale than the similarity, or nothing is left.
    """

    def build(folder: Path) -> Mapping[str, Any]:
        return _write(folder, Ground.read(corpus, miners.student.vectors, settings), miners, settings)

    inputs = {"corpus": corpus.fingerprint, **miners.fingerprints(settings)}
    return make_artifact(root, "mine", VERSION, settings, inputs, build)


def _write(folder: Path, ground: Ground, miners: Miners, settings: Mining) -> dict[str, Any]:
    asked, recalls = retrievers(ground, miners, settings)
    search = Search(ground, asked, miners.student.system, settings)
    rows, found = ground.mined["row"].to_numpy(), []
    with progress("mine", ground.mined.height, "queries") as tick:
        for first in range(0, len(rows), SPAN):
            found.append(search.candidates(rows[first : first + SPAN]))
            tick(len(rows[first : first + SPAN]))
    candidates, kept = _named(ground, pl.concat(found), search, settings)
    positives = ground.labels.filter(pl.col("grade") > 0).join(kept, left_on="query_hash", right_on="hash", how="semi")
    pairs = pl.concat([candidates.select(KEYS), positives.select(KEYS)]).unique().sort(KEYS)
    candidates.write_parquet(folder / "candidates.parquet", compression="zstd")
    pairs.write_parquet(folder / "pairs.parquet", compression="zstd")
    about = {"pairs": pairs.height, "dropped": ground.mined.height - kept.height}
    return {**_facts(candidates, ground, settings), **about, "lists": search.told(), "recall": recalls}


@dataclass
class Search:
    """Asks the miners for spans of queries, and counts what became of every passage.

    Attributes:
        ground: Texts, labels and vectors.
        asked: Who retrieves.
        student: The current student's name; the scores of its own list are similarities.
        settings: Window, filters, picks and join.
        fates: How many retrieved passages met which fate, by list and fate.
    """

    ground: Ground
    asked: list[Retriever]
    student: str
    settings: Mining
    fates: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        ground = self.ground
        self.near = NearDuplicates(
            ground.positives, ground.vectors[1], ground.passages["text"], self.settings, tokenize
        )
        self.hashes = dict(ground.mined.select("row", "hash").iter_rows())

    def candidates(self, rows: Rows) -> pl.DataFrame:
        """Candidates of some queries: `query_row, passage_row, rank, similarity, miner`."""
        lists = [self._retrieved(each, rows) for each in self.asked]
        if self.settings.join == "fusion":
            lists = [fuse_miners(lists, self.settings.fusion_constant, self.settings.depth)]
        named = ["hybrid"] if self.settings.join == "fusion" else [each.name for each in self.asked]
        settled = []
        for number, each in enumerate(lists):
            known = each.join(self.ground.lowest_positives, on="query_row", how="left", maintain_order="left")
            settled.append(settle(known, self.settings, self.hashes, number))
        kept = [each.filter(pl.col("fate").is_in([KEPT, WIDENED])).select(COLUMNS) for each in settled]
        united = unite(pl.concat(kept))
        if self.settings.too_few == "drop":
            counts = united.group_by("query_row").len()
            enough = counts.filter(pl.col("len") >= (self.settings.count or 1))
            settled = [dropped(each, enough) for each in settled]
            united = united.join(enough, on="query_row", how="semi", maintain_order="left")
        for name, each in zip(named, settled, strict=True):
            self.fates.update({(name, fate): count for fate, count in each["fate"].value_counts().iter_rows()})
        return united

    def told(self) -> dict[str, dict[str, int]]:
        """Counts by list and fate, in the order in which a passage meets them."""
        names = list(dict.fromkeys(name for name, _ in self.fates))
        return {name: {fate: self.fates[name, fate] for fate in (NEAR, *FATES)} for name in names}

    def _retrieved(self, retriever: Retriever, rows: Rows) -> pl.DataFrame:
        near: list[pl.DataFrame] = []

        def drop(lists: pl.DataFrame) -> pl.DataFrame:
            left = lists.join(self.ground.excluded, on=["query_row", "passage_row"], how="anti", maintain_order="left")
            if not self.settings.near_duplicates:
                return left
            near.append(self.near.among(left))
            return left.join(near[-1], on=["query_row", "passage_row"], how="anti", maintain_order="left")

        found = retrieve(retriever, rows, drop, self.settings.depth)
        # A query that was asked again has met its near duplicates twice.
        self.fates[retriever.name, NEAR] += pl.concat(near).unique().height if near else 0
        own = retriever.name == self.student
        return found.with_columns(found["score"].alias("similarity") if own else self.ground.similarities(found))


def _named(ground: Ground, found: pl.DataFrame, search: Search, settings: Mining) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Name candidates by their texts' hashes.

    Returns:
        `query_hash, passage_hash, rank, student_score, miner`; and the `hash` of the queries that stay.
    """
    if not found.height:
        raise ValueError(
            f"no candidate is left of what was retrieved for {ground.mined.height:,} queries ({_fates(search)}); a "
            "round would have nothing to push away. Loosen the filters of [mining], or mine deeper"
        )
    named = found.select(
        query_hash=ground.queries["hash"].gather(found["query_row"]),
        passage_hash=ground.passages["hash"].gather(found["passage_row"]),
        rank="rank",
        student_score="similarity",
        miner="miner",
    )
    stay = ground.mined
    if settings.too_few == "drop":
        stay = stay.join(found, left_on="row", right_on="query_row", how="semi")
    return named.sort("query_hash", "rank", "passage_hash"), stay.select("hash")


def _fates(search: Search) -> str:
    """What became of the passages of each list, in words."""
    counts = {name: {fate: count for fate, count in each.items() if count} for name, each in search.told().items()}
    said = {name: ", ".join(f"{count:,} {fate}" for fate, count in each.items()) for name, each in counts.items()}
    return "; ".join(f"{name}: {each or 'nothing beside what is labelled'}" for name, each in said.items())


def _facts(candidates: pl.DataFrame, ground: Ground, settings: Mining) -> dict[str, Any]:
    lengths = ground.mined.join(
        candidates.group_by("query_hash").len(), left_on="hash", right_on="query_hash", how="left"
    )["len"].fill_null(0)
    asked = settings.count or settings.last_rank - settings.first_rank + 1
    return {
        "queries": ground.mined.height,
        "candidates": candidates.height,
        "short_lists": int((lengths < asked).sum()),
        "excluded": {why: ground.excluded.filter(pl.col("why") == why).height for why in WHY},
    }
