"""The arms of `benchmarks/denoising.py`: who judges the candidates, from the same warm student and the same lists."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from sides.sparse import hidden_truth, write_sparse
from tasks.artifacts import Artifact
from tasks.baseline.settings import StudentSettings
from tasks.baseline.systems import base_student
from tasks.denoise.evidence import Evidence
from tasks.encode import encode_corpus
from tasks.evaluate.settings import Evaluation
from tasks.evaluate.systems import evaluate_student
from tasks.ingest.corpus import ingest_corpus
from tasks.ingest.settings import Source
from tasks.mine.miners import Miner, Miners
from tasks.mine.mining import mine_candidates
from tasks.mine.settings import Mining
from tasks.record import warehouse_of
from tasks.refs import Run, StudentRef, TeacherRef
from tasks.score.scoring import Work, score_pairs
from tasks.score.settings import Scoring
from tasks.teach.calibrating import calibrate_teacher
from tasks.teach.settings import Teach
from tasks.teach.teaching import Lectern, taught_teacher, teach_folds
from tasks.train.training import student_of
from tasks.warmup.settings import Warmup
from tasks.warmup.warming import warm_student
from tasks.where import Where
from warehouse.load import start_run

MEASURE = "nDCG@10"
BLENDS = [0.25, 0.5, 0.75, 1.0]


@dataclass(frozen=True)
class Sizes:
    """How long students and teachers are trained, from what and how, and how many candidates are judged."""

    warmup: int
    teach: int
    lr: float
    random_share: float
    start: str
    depth: int
    seed: int


class Bench:
    """A corpus with one visible label per query, a warm student, and its candidates; made when first asked for."""

    def __init__(self, home: Path, data: Path, student: str, sizes: Sizes) -> None:
        self.data, self.sizes, self.home = data, sizes, home
        self.where = Where(home=home)
        warehouse = warehouse_of(self.where)
        self.run = Run(id=start_run(warehouse, "evaluate", "denoising", "{}", {}), recipe="denoising", where=self.where)
        self.student = StudentSettings(model=student)
        self.visible = write_sparse(data, home / "sparse", sizes.seed)
        self.sparse = ingest_corpus(self.run, Source(path=str(home / "sparse"), name="sparse"))

    @cached_property
    def warm(self) -> StudentRef:
        """The base trained on the visible labels."""
        base = base_student(self.where, self.student)
        settings = Warmup(steps=self.sizes.warmup, frozen=["word_embeddings"])
        made = warm_student(self.where, self.sparse, base, settings, self.sizes.seed, MEASURE)
        return student_of(made, "warm", base)

    def ground(self, corpus: Artifact) -> tuple[Artifact, Artifact, Artifact]:
        """Vectors, evaluation and candidates of the warm student on a corpus."""
        vectors = encode_corpus(self.where, corpus, self.warm)
        settings = Evaluation(rerank_depth=self.sizes.depth)
        ranked = evaluate_student(self.run.root, "warm", corpus, vectors, settings)
        miner = Miner(system="warm", vectors=vectors)
        mining = Mining(depth=self.sizes.depth, last_rank=self.sizes.depth)
        return vectors, ranked, mine_candidates(self.run.root, corpus, Miners.first(miner, miner), mining)

    def teacher(self, corpus: Artifact) -> tuple[TeacherRef, Evidence]:
        """A teacher of two folds, taught on a corpus' labels, and its scores of the candidates of the sparse one.

        No fold judges a query whose labels it saw.
        """
        vectors, ranked, mined = self.ground(corpus)
        lectern = Lectern(corpus=corpus, warm=self.warm, mined=mined, ranked=ranked)
        sizes = self.sizes
        how = {"steps": sizes.teach, "lr": sizes.lr, "random_share": sizes.random_share, "start": sizes.start}
        settings = Teach(**how, frozen=["word_embeddings"])
        teacher = taught_teacher(teach_folds(self.where, lectern, settings, self.sizes.seed, MEASURE))
        of_dev = self._scored(corpus, ranked, teacher)
        teacher = calibrate_teacher(self.run.root, corpus, teacher, (ranked, of_dev), (BLENDS, MEASURE))
        vectors, _, mined = self.ground(self.sparse)
        scored = self._scored(self.sparse, mined, teacher)
        return teacher, Evidence(corpus=self.sparse, vectors=vectors, mined=mined, scored=scored)

    def complete(self) -> Artifact:
        """The corpus with all its labels."""
        return ingest_corpus(self.run, Source(path=str(self.data), name="complete"))

    def truth(self, pairs: pl.DataFrame) -> pl.Series:
        """Which pairs are relevant, seen or hidden; aligned with them."""
        known = hidden_truth(self.data, self.sparse).with_columns(relevant=True)
        joined = pairs.join(known, on=["query_hash", "passage_hash"], how="left", maintain_order="left")
        return joined["relevant"].fill_null(False)

    def _scored(self, corpus: Artifact, pairs: Artifact, teacher: TeacherRef) -> Artifact:
        return score_pairs(Work(run=self.run, corpus=corpus, pairs=pairs, teacher=teacher, sizes=Scoring()))
