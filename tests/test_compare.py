"""Two runs beside each other: only what differs, paired, by what each of them chose."""

from pathlib import Path

import polars as pl
import pytest
import warehouse_samples as sample
from copies import copied
from warehouse_samples import about, frame, query_hash

from tasks.report.comparing import compare_runs, differing
from warehouse.connect import Warehouse
from warehouse.load import link_round, load_corpus, load_metrics, load_query_metrics, register_artifact, start_run


def play(wh: Warehouse, folder: Path, settings: str, values: dict[str, list[float]], chosen: str) -> int:
    """A run with systems measured on dev queries q1, q2, and one that it exported."""
    run = start_run(wh, "distill", "toy", settings, {})
    for system, each in values.items():
        name = f"{run}-{system}"
        key = register_artifact(wh, run, about("evaluate", name), name)
        link_round(wh, run, 0, "evaluate", key)
        columns: tuple[str, ...] = ("system", "split", "measure", "value", "chance", "queries")
        rows: list[tuple[object, ...]] = [(system, "dev", "nDCG@10", sum(each) / 2, 0.1, 2)]
        load_metrics(wh, run, key, frame(folder / f"{name}-m.parquet", rows, columns), f"m{name}")
        columns = ("system", "split", "query_hash", "measure", "value")
        rows = [(system, "dev", query_hash(q), "nDCG@10", value) for q, value in zip(("q1", "q2"), each, strict=True)]
        load_query_metrics(wh, run, key, frame(folder / f"{name}-q.parquet", rows, columns), f"q{name}")
    key = register_artifact(wh, run, about("export", f"export-{run}", system=chosen), "export")
    link_round(wh, run, 0, "export", key)
    return run


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    copied(two_runs, tmp_path)
    return Warehouse(tmp_path / "warehouse.duckdb")


def two_runs(folder: Path) -> None:
    """Runs 2 and 3, which chose different students."""
    wh = Warehouse(folder / "warehouse.duckdb")
    setup = start_run(wh, "distill", "toy", "{}", {})
    load_corpus(wh, setup, "toy", sample.corpus(folder / "ingest"), "corpus-1")
    play(wh, folder, '{"rounds": 1}', {"base": [0.5, 0.5], "warm": [0.25, 0.75]}, "warm")
    play(wh, folder, '{"rounds": 2}', {"base": [0.5, 0.5], "round-1": [1.0, 0.5]}, "round-1")


def test_what_each_run_chose_is_compared_query_by_query(warehouse: Warehouse) -> None:
    found = compare_runs(warehouse, 2, 3)
    assert (found.systems, found.split) == (("warm", "round-1"), "dev")
    row = found.measures.row(0, named=True)
    assert (row["first"], row["second"], row["difference"]) == pytest.approx((0.5, 0.75, 0.25))
    assert (row["low"], row["high"], row["queries"]) == pytest.approx((-0.25, 0.75, 2))
    assert 0.4 < row["p"] <= 1
    assert found.queries["query"].to_list() == ["apple", "sky"], "most changed first"
    assert found.queries["difference"].to_list() == pytest.approx([0.75, -0.25])
    assert found.settings.rows() == [("rounds", "1", "2")]
    assert found.same_data


def test_a_run_that_the_gate_stopped_is_told_apart(warehouse: Warehouse) -> None:
    """Two runs that chose the same, and the reader takes the second one's rounds for as good."""
    facts = {"system": "warm", "goes_on": False, "difference": -0.01, "p": 0.75}
    key = register_artifact(warehouse, 3, about("gate", "gate", **facts), "gate")
    link_round(warehouse, 3, 0, "gate", key)
    first, second = compare_runs(warehouse, 2, 3).stopped
    assert first == "" and second.startswith("no round was made: the teacher is not proven to know more than warm")


def test_data_that_grew_is_said(warehouse: Warehouse) -> None:
    """The same student on more passages measures lower; a reader would take that for a loss."""
    key = register_artifact(warehouse, 3, about("ingest", "grown"), "grown")
    link_round(warehouse, 3, 0, "ingest", key)
    assert not compare_runs(warehouse, 2, 3).same_data


def test_only_what_differs_is_listed() -> None:
    first = {"seed": 0, "training": {"lr": 1e-4, "steps": 3}, "gone": {}}
    rows = differing(first, {"seed": 0, "training": {"lr": 2e-4, "steps": 3}, "new": [1]}).rows()
    assert rows == [("training.lr", "0.0001", "0.0002"), ("gone", "{}", None), ("new", None, "[1]")]
    assert differing(first, first).is_empty()


def test_runs_on_other_queries_are_not_compared(warehouse: Warehouse) -> None:
    """Pitfall 39: a difference of means over other queries says nothing."""
    with warehouse.write() as con:
        con.execute("DELETE FROM query_metrics WHERE system = 'warm' AND value = 0.25")
    with pytest.raises(ValueError, match="they must be the same ones"):
        compare_runs(warehouse, 2, 3)
    assert isinstance(compare_runs(warehouse, 3, 3).queries, pl.DataFrame)
