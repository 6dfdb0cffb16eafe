"""People judge blind, and what stands beside their answers must be what they answered about."""

import csv
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import warehouse_samples as sample

from tasks.review.beside import check_beside
from tasks.review.exporting import Wanted, export_queue, mixed
from tasks.review.importing import import_answers
from tasks.where import Where
from warehouse.reviews import Reviewed

Rows = list[dict[str, str]]


@pytest.fixture
def home(tmp_path: Path) -> Where:
    return sample.played(tmp_path)


def table(where: Where, **wanted: Any) -> Rows:
    path = where.home / f"review-{len(list(where.home.iterdir()))}.csv"
    export_queue(where, Wanted(certain_share=9, **wanted), path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def written(where: Where, rows: Rows) -> Path:
    path = where.home / "filled.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_what_others_think_is_shown_only_where_it_is_asked_for(home: Where) -> None:
    """Whoever reads the teacher's verdict first agrees with it, and the agreement then measures nothing."""
    blind, told = table(home), table(home, with_verdicts=True)
    assert list(blind[0]) == ["relevant", "query", "passage", "query_id", "passage_id", "corpus", "pair"]
    assert set(told[0]) - set(blind[0]) == {"rank", "probability", "verdict", "reason"}
    assert [row["pair"] for row in blind] == [row["pair"] for row in told] and len(blind) == 6


@pytest.mark.parametrize("with_verdicts", [False, True])
def test_answers_come_back_from_either_table(home: Where, with_verdicts: bool) -> None:
    rows = table(home, with_verdicts=with_verdicts)
    answered = [{**row, "relevant": "yes" if row["passage_id"] == "d5" else "no"} for row in rows]
    assert import_answers(home, written(home, answered)) == Reviewed(6, 0, 0, 0)


def test_the_order_is_the_seeds_and_tells_nothing() -> None:
    """Doubtful ones first, certain ones last: the order alone would say what the teacher thinks."""
    rows = [(query, passage) for query in range(20) for passage in range(10)]
    schema = {"query_hash": pl.Int64, "passage_hash": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    doubtful, certain = frame.filter(pl.col("passage_hash") < 5), frame.filter(pl.col("passage_hash") >= 5)
    orders = [mixed(doubtful, certain, seed) for seed in (1, 1, 2)]
    assert orders[0].equals(orders[1]) and not orders[0].equals(orders[2])
    assert orders[0].sort("query_hash", "passage_hash").equals(frame)
    for order in orders:
        queries = order["query_hash"].to_list()
        assert sum(a != b for a, b in pairwise(queries)) == 19, "a query's rows together"
        first = order.group_by("query_hash", maintain_order=True).first()["passage_hash"]
        assert first.n_unique() > 4 and queries[::10] != sorted(queries[::10])


def moved(column: str) -> Callable[[Rows], Rows]:
    """A column that was sorted alone."""
    return lambda rows: [{**row, column: other[column]} for row, other in zip(rows, rows[1:] + rows[:1], strict=True)]


FAULTS: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    "ids sorted alone": (moved("passage_id"), r"\d rows have ids or texts .*\n  row 2: passage_id is 'd"),
    "texts sorted alone": (moved("passage"), r"\n  row 2: passage is '.*', and that of the pair is '"),
    "pairs sorted alone": (moved("pair"), r"nothing was imported:\n  row 2: "),
    "another query typed in": (
        lambda rows: [{**row, "query": "what is new"} if row["query_id"] == "q2" else row for row in rows],
        "3 rows have ids .* query is 'what is new', and that of the pair is 'sky'",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_answer_beside_another_pairs_texts_is_refused_with_its_row(home: Where, fault: str) -> None:
    """The answer would be a label of a pair that nobody read."""
    change, sentence = FAULTS[fault]
    rows = [{**row, "relevant": "no"} for row in table(home)]
    with pytest.raises(ValueError, match=f"(?s)filled.csv: .*{sentence}"):
        import_answers(home, written(home, change(rows)))
    assert sample.rows(sample.warehouse(home), "SELECT count(*) FROM labels WHERE source <> 'given'") == [(0,)]


def test_what_is_not_answered_or_not_there_is_not_compared(home: Where) -> None:
    rows = [{**row, "relevant": "no" if row["passage_id"] == "d5" else ""} for row in table(home)]
    changed = [row if row["relevant"] else {**row, "query": "notes of mine"} for row in rows]
    assert import_answers(home, written(home, changed)).new == 1
    bare = [{name: row[name] for name in ("relevant", "corpus", "pair")} for row in rows]
    assert import_answers(home, written(home, bare)).unchanged == 1


@pytest.mark.parametrize(
    ("cell", "text", "fits"),
    [
        ("7", "007", True),
        ("1.23457E+19", "12345678901234567890", True),
        ("1,23457E+19", "12345678901234567890", True),
        ("1.23457E+19", "22345678901234567890", False),
        ("12345678901", "12345678902", False),
        ("two lines", "two\r\n  lines", True),
        ("two line", "two lines", False),
        ("x" * 32_000 + " …", "x" * 40_000, True),
        ("y" * 32_000 + " …", "x" * 40_000, False),
        ("4-Mar", "3/4", False),
        ("", "emptied", True),
    ],
)
def test_what_a_spreadsheet_rewrites_by_itself_is_no_difference(cell: str, text: str, fits: bool) -> None:
    """Ids of digits come back from a spreadsheet as numbers; refused, no such corpus could be reviewed."""
    others = dict.fromkeys(("shown_query", "shown_passage", "shown_passage_id"))
    answers = pl.DataFrame([{"row": 2, "shown_query_id": cell, **others}])
    known = pl.DataFrame([{"row": 2, "query": "q", "passage": "p", "query_ids": ["x", text], "passage_ids": ["d"]}])
    if fits:
        check_beside(Path("t.csv"), answers, known)
    else:
        with pytest.raises(ValueError, match="row 2: query_id is"):
            check_beside(Path("t.csv"), answers, known)
