"""A desk where files of pairs are handed in to be scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring_bench import QUERIES, SIZES, Bench
from sources import write_jsonl

from tasks.artifacts import Artifact
from tasks.deliver.receipt import Receipt, receipt_of
from tasks.deliver.writing import write_scores
from tasks.gather.gathering import gather_pairs
from tasks.gather.settings import PairsFile
from tasks.record import warehouse_of
from tasks.refs import Run
from tasks.score.scoring import Work, score_pairs
from warehouse.load import start_run

ASKED = list(QUERIES)


@dataclass
class Desk:
    """Where files of pairs are handed in; the flow's steps without Prefect."""

    bench: Bench

    def score(self, path: Path, out: Path | None = None, corpus: str = "") -> Receipt:
        where = self.bench.run.where
        run = Run(id=start_run(warehouse_of(where), "score", path.stem, "{}", {}), recipe=path.stem, where=where)
        pairs = gather_pairs(run, PairsFile(path=path, corpus=corpus))
        scored = self.scored(run, pairs)
        if out is not None:
            write_scores(out, pairs, scored)
        return receipt_of(run, pairs, scored, self.bench.teacher, out)

    def scored(self, run: Run, pairs: Artifact) -> Artifact:
        return score_pairs(Work(run=run, corpus=pairs, pairs=pairs, teacher=self.bench.teacher, sizes=SIZES))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with warehouse_of(self.bench.run.where).read() as connection:
            return connection.execute(sql).fetchall()


def by_text(path: Path, queries: Sequence[str], passages: Sequence[str]) -> Path:
    return write_jsonl(path, [{"query": query, "passage": passage} for query in queries for passage in passages])


def by_id(path: Path, queries: Sequence[int], passages: Sequence[int]) -> Path:
    rows = [{"query_id": f"q{query}", "passage_id": f"p{passage}"} for query in queries for passage in passages]
    return write_jsonl(path, rows)
