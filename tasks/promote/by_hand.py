"""Putting a round's student in use by hand."""

import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tasks.artifacts import Artifact
from tasks.promote.incumbent import name_incumbent
from tasks.record import warehouse_of
from tasks.refs import Run, StudentRef
from tasks.where import Where
from warehouse import report_rows
from warehouse.connect import Warehouse
from warehouse.lookup import artifacts_of


@dataclass(frozen=True)
class Promoted:
    """Who is in use now, and what the run thought of it.

    Attributes:
        path: The file that says so.
        system: The student.
        sentence: Its dev measure beside the base's.
    """

    path: Path
    system: str
    sentence: str


def promote_by_hand(where: Where, run: int, number: int, why: str = "") -> Promoted:
    """Name the student of one round of a run as its recipe's incumbent.

    Args:
        where: The home folder.
        run: The run.
        number: The round, from 1.
        why: The reason, in a sentence; empty tells its dev measure.

    Raises:
        LookupError: There is no such run, or it trained and measured no student in that round.
        FileNotFoundError: The student's folder is gone.
    """
    warehouse = warehouse_of(where)
    row = report_rows.run_row(warehouse, run)
    system = f"round-{number}"
    training, evaluation = _made(warehouse, run, number)
    settings = json.loads(row["settings"])
    student = StudentRef(
        system=system,
        fingerprint=training.facts["student"],
        path=training.file("model"),
        trust_remote_code=settings.get("student", {}).get("trust_remote_code", False),
    )
    measure = settings.get("evaluation", {}).get("measure", "nDCG@10")
    told = _told(report_rows.board(warehouse, run), measure, system)
    path = name_incumbent(Run(id=run, recipe=row["recipe"], where=where), student, evaluation, "hand", why or told)
    return Promoted(path, system, told)


def _made(warehouse: Warehouse, run: int, number: int) -> tuple[Artifact, Artifact]:
    """The training of a round and the evaluation of its student.

    Raises:
        LookupError: The run has no such student.
    """
    made = artifacts_of(warehouse, run)
    trained = made.filter((pl.col("step") == "train") & (pl.col("round") == number)).rows(named=True)
    measured = [
        each
        for each in made.filter(pl.col("step") == "evaluate").rows(named=True)
        if json.loads(each["settings"])["system"] == f"round-{number}"
    ]
    if not trained or not measured:
        rounds = sorted(set(made.filter(pl.col("step") == "train")["round"].to_list()))
        raise LookupError(f"{warehouse.path}: run {run} has no student of round {number}; there are {rounds}")
    found = (
        Artifact(step=each["step"], fingerprint=each["fingerprint"], path=Path(each["path"]))
        for each in (trained[-1], measured[-1])
    )
    return next(found), next(found)


def _told(board: pl.DataFrame, measure: str, system: str) -> str:
    dev = board.filter((pl.col("split") == "dev") & (pl.col("measure") == measure))
    means = dict(dev.select("system", "value").iter_rows())
    return f"{measure} on dev: {system} {means[system]:.3f}, base {means['base']:.3f}"
