"""What mining can be told."""

from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.settings import Settings

LARGEST = 2**31 - 1  # the largest number that FAISS keeps a graph's settings in


class Index(Settings):
    """How vectors are searched.

    Exact search reads them block by block from their file. The approximate kinds hold all of them in memory, miss some
    passages, and say how many: the share of the exact list that they find for a sample of the queries.
    """

    kind: Literal["exact", "ivf", "hnsw"] = Field(
        "exact",
        description="exact: every passage is compared. ivf: only those of the nearest clusters. hnsw: along a graph, "
        "which is built by one thread, so that it is the same one every time.",
    )
    clusters: int = Field(0, ge=0, description="ivf: clusters of passages; 0: four times the root of their number.")
    probes: int = Field(32, ge=1, description="ivf: clusters that are looked into per query.")
    links: int = Field(32, ge=4, le=256, description="hnsw: links of a passage in the graph.")
    building: int = Field(
        200, ge=8, le=LARGEST, description="hnsw: passages compared while one is linked (efConstruction)."
    )
    looking: int = Field(
        256,
        ge=8,
        le=LARGEST,
        description="hnsw: passages kept in view per query (efSearch); never fewer than are asked for.",
    )
    sample: int = Field(200, ge=1, description="Queries for which the finds are compared with an exact search.")

    @model_validator(mode="after")
    def _probes_fit(self) -> Self:
        if self.clusters and self.probes > self.clusters:
            raise ValueError(f"{self.probes} probes of {self.clusters} clusters: there are not that many to look into")
        return self


class Mining(Settings):
    """Who retrieves, how deep, and what is left out.

    Ranks are those of a retrieved list after known positives, their duplicates and the query's own text are removed,
    and before anything else is. Similarities are those of the current student, whoever retrieved a passage.
    """

    miners: list[Literal["student", "base", "warm", "earlier", "bm25"]] = Field(
        ["student"],
        min_length=1,
        description="Who retrieves. student: the student of the last round, at first the warm one. "
        "base, warm: these two. earlier: the students of all rounds before. bm25: words.",
    )
    join: Literal["union", "fusion"] = Field(
        "union",
        description="union: each miner's list has its own ranks, filters and picks, and what any of them keeps is a "
        "candidate. fusion: one list by reciprocal rank fusion (the system `hybrid`).",
    )
    fusion_constant: float = Field(60.0, gt=0, description="fusion: a passage's score is the sum of 1 / (this + rank).")
    index: Index = Field(Index(), description="How vectors are searched.")
    unlabelled: bool = Field(
        False, description="Also mine queries that nobody labelled; the policy promote may give them a positive."
    )
    depth: int = Field(100, ge=1, description="Passages retrieved per query and miner.")
    first_rank: int = Field(1, ge=1, description="First rank that may become a negative.")
    last_rank: int = Field(100, ge=1, description="Last rank that may become a negative.")
    query_share: float = Field(
        1.0, gt=0, le=1, description="Share of the train queries that are mined and trained on, chosen by hash."
    )
    floor: float | None = Field(None, description="Least similarity of a candidate; none: no floor.")
    ceiling: float | None = Field(
        None, description="A candidate's similarity is strictly below this; none: no ceiling."
    )
    perc_pos: float | None = Field(
        None,
        gt=0,
        le=1,
        description="TopK-PercPos (arXiv 2407.15831): a candidate's similarity is at most pos - |pos| * (1 - this), "
        "where pos is the lowest similarity among the query's positives; 0.95 in the paper.",
    )
    margin_pos: float | None = Field(
        None, ge=0, description="MarginPos: a candidate's similarity is at most pos - this; 0.05 in the paper."
    )
    near_duplicates: bool = Field(
        True,
        description="Take out what nearly equals a positive of the query: the same words in the same order, or both "
        "thresholds below are reached.",
    )
    near_similarity: float = Field(0.95, gt=0, le=1, description="Cosine of the two passages by the current student.")
    near_overlap: float = Field(0.9, gt=0, le=1, description="Words of both, as a share of the words of either.")
    count: int | None = Field(
        None, ge=1, description="Candidates picked per query and list; none: all that pass the filters."
    )
    picker: Literal["top", "random", "log-rank", "top-and-random"] = Field(
        "top",
        description="How `count` are picked. top: the highest. random: any. log-rank: at random, with weight "
        "1 / log2(1 + rank). top-and-random: half the highest, half any of the others.",
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of the picks; each query is drawn for by itself.")
    too_few: Literal["fewer", "widen", "drop"] = Field(
        "fewer",
        description="What happens where fewer than `count` (without it: none) are left. fewer: the list is short. "
        "widen: ranks below the window are taken, down to `depth`. drop: the query is not trained on.",
    )

    @model_validator(mode="after")
    def _window_fits(self) -> Self:
        if not self.first_rank <= self.last_rank <= self.depth:
            raise ValueError(f"ranks {self.first_rank}–{self.last_rank} don't fit in a depth of {self.depth}")
        if self.floor is not None and self.ceiling is not None and self.floor >= self.ceiling:
            raise ValueError(f"floor {self.floor} is not below ceiling {self.ceiling}: no similarity lies between")
        return self

    @model_validator(mode="after")
    def _picks_fit(self) -> Self:
        if self.count is None and self.picker != "top":
            raise ValueError(f"picker {self.picker!r} needs a count; without one, everything is picked")
        window = self.last_rank - self.first_rank + 1
        if self.count is not None and self.count > window:
            raise ValueError(
                f"{self.count} candidates can't be picked from ranks {self.first_rank}–{self.last_rank}: {window} ranks"
            )
        if self.too_few == "widen" and (self.count is None or self.depth == self.last_rank):
            raise ValueError(
                f"too_few = 'widen' needs a count (now {self.count}) and a depth (now {self.depth}) beyond the last "
                f"rank (now {self.last_rank}); there would be nothing to widen to"
            )
        if len(set(self.miners)) < len(self.miners):
            raise ValueError(f"miners {', '.join(self.miners)}: each is asked once")
        return self

    @property
    def most(self) -> int:
        """Most candidates that a query can get."""
        each = self.count or self.last_rank - self.first_rank + 1
        return each * (len(self.miners) if self.join == "union" else 1)

    @property
    def leaves_fewer(self) -> bool:
        """Whether how many candidates there will be depends on the vectors."""
        filters = (self.floor, self.ceiling, self.perc_pos, self.margin_pos)
        return any(each is not None for each in filters) or len(self.miners) > 1 or self.miners == ["bm25"]
