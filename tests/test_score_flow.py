"""The flow `score` through Prefect: a run like any other, alone on its warehouse."""

from pathlib import Path
from typing import Any

import pytest
from sources import write_jsonl
from tiny import sentences

from flows.request import Request, columns_of, request_of
from tasks.gather.settings import PairsFile
from tasks.teach.settings import TeacherSettings
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.queries import quality, run_rows
from warehouse.report_rows import cost

pytestmark = pytest.mark.usefixtures("prefect")


@pytest.fixture
def request_(tmp_path: Path, tiny_teacher: Path) -> Request:
    rows = [{"query": query, "passage": text} for query in sentences(3, seed=5) for text in sentences(4, seed=6)]
    source = PairsFile(path=write_jsonl(tmp_path / "my pairs.jsonl", rows))
    return request_of(source, TeacherSettings(model=str(tiny_teacher)), tmp_path / "scores.csv")


def run(request: Request, home: Path) -> Any:
    from flows.score import score_pairs

    where = Where(home=home, device="cpu", precision="fp32", threads=1)
    return score_pairs(request, where, return_state=True)


def test_a_scoring_is_a_run_and_a_second_one_scores_nothing(request_: Request, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    first, second = run(request_, tmp_path), run(request_, tmp_path)
    assert first.is_completed() and second.is_completed()
    rows = run_rows(warehouse)
    assert rows.select("flow", "recipe", "status").rows() == [("score", "my-pairs", "completed")] * 2
    assert [(each.result().run, each.result().new) for each in (first, second)] == [(1, 12), (2, 0)]
    assert [cost(warehouse, number).select("pairs", "scored").rows() for number in (1, 2)] == [[(12, 12)], [(12, 0)]]
    assert quality(warehouse).height == 0
    assert len((tmp_path / "scores.csv").read_text("utf-8").splitlines()) == 13


def test_a_failure_is_a_failed_run(request_: Request, tmp_path: Path) -> None:
    request_.pairs.path.write_text('{"query_id": "q", "passage_id": "p"}\n', "utf-8")
    state = run(request_, tmp_path)
    assert state.is_failed() and "no corpus that knows any" in state.message
    rows = run_rows(Warehouse(tmp_path / "warehouse.duckdb"))
    assert rows["status"].to_list() == ["failed"] and "no corpus that knows any" in rows["error"][0]
    assert not (tmp_path / "scores.csv").exists()


def test_a_scoring_beside_a_run_is_cancelled_and_names_it(request_: Request, tmp_path: Path) -> None:
    """Pitfall 44: two runs at once writing one DuckDB file."""
    from flows.locks import run_lock

    with run_lock(tmp_path, "nightly"):
        state = run(request_, tmp_path)
    assert state.is_cancelled() and "'nightly'" in (state.message or "")
    assert not (tmp_path / "warehouse.duckdb").exists()


def test_columns_are_named_by_role() -> None:
    assert columns_of(["query=question", "passage_id=doc=id"]).model_dump() == {
        "query": "question",
        "passage": "passage",
        "title": "title",
        "query_id": "query_id",
        "passage_id": "doc=id",
    }
    for wrong in ("question", "qurey=x", "query=", "query=passage"):
        with pytest.raises(ValueError, match="--column"):
            columns_of([wrong])
