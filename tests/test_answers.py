"""Answers hold what the question's types say: no panic, no other number, no text where a number was asked for."""

import json
from io import BytesIO
from typing import Any

import duckdb
import pytest

from flows.cli.tables import names_and_rows, write
from warehouse.answers import answer_table

EDGES = {
    "DATE 'infinity'": "infinity",
    "DATE '-infinity'": "-infinity",
    "DATE '290000-01-01'": "290000-01-01",
    "DATE '0044-03-15 (BC)'": "0044-03-15 (BC)",
    "TIMESTAMP 'infinity'": "infinity",
    "TIMESTAMPTZ '-infinity'": "-infinity",
    "TIMESTAMP_S 'infinity'": "infinity",
    "TIMESTAMP_NS '-infinity'": "-infinity",
    "TIME '24:00:00'": "24:00:00",
    "[DATE 'infinity', NULL]": "[infinity, NULL]",
    "{'a': [TIMESTAMP 'infinity']}": "{'a': [infinity]}",
    "340282366920938463463374607431768211455::UHUGEINT": "340282366920938463463374607431768211455",
    "170141183460469231731687303715884105727::HUGEINT": "170141183460469231731687303715884105727",
    "-9223372036854775809": "-9223372036854775809",
}
INSIDE = {
    "DATE '0001-01-01'": "0001-01-01",
    "DATE '9999-12-31'": "9999-12-31",
    "TIME '23:59:59.999999'": "23:59:59.999999",
    "TIMESTAMP '9999-12-31 23:59:59.999999'": "9999-12-31 23:59:59.999999",
    "sum(7)": 7,
    "9223372036854775807::HUGEINT": 9223372036854775807,
    "-9223372036854775808::HUGEINT": -9223372036854775808,
    "[sum(7), NULL]": [7, None],
    "{'a': sum(7), 'b': 1.5}": {"a": 7, "b": 1.5},
    "[1::HUGEINT, 2]::HUGEINT[2]": [1, 2],
    "[1.5]": [1.5],
    "1.5": 1.5,
    "NULL::HUGEINT": None,
    "NULL::DATE": None,
    "'nan'::DOUBLE": None,
}


def answered(question: str) -> Any:
    with duckdb.connect() as con:
        return answer_table(con, con.sql(question))


def as_json(table: Any) -> Any:
    whole = BytesIO()
    write(table, "json", whole)
    return json.loads(whole.getvalue())


@pytest.mark.parametrize(("value", "wanted"), [*EDGES.items(), *INSIDE.items()])
def test_json_has_the_value_as_a_number_or_as_duckdb_spells_it(value: str, wanted: object) -> None:
    """A date that is infinite ended in a panic, UHUGEINT came as -1, 24:00 as nothing, and a sum as text."""
    assert as_json(answered(f"SELECT {value} AS x")) == [{"x": wanted}]


@pytest.mark.parametrize("value", EDGES)
@pytest.mark.parametrize("format", ["csv", "spreadsheet", "parquet"])
def test_what_others_have_no_value_for_can_be_written(value: str, format: str) -> None:
    table = answered(f"SELECT {value} AS x")
    whole = BytesIO()
    write(table, format, whole)
    assert EDGES[value].encode() in whole.getvalue()
    assert names_and_rows(table) == (["x"], [(EDGES[value],)])


def test_one_odd_value_makes_text_of_its_column_and_of_no_other() -> None:
    table = answered(
        "SELECT unnest([DATE '2026-01-02', DATE 'infinity']) AS x, DATE '2026-01-02' AS x, sum(3) OVER () AS n, "
        "'b'::ENUM ('a', 'b') AS e, NULL AS nothing, [1] AS l"
    )
    assert table.column_names == ["x", "x", "n", "e", "nothing", "l"]
    assert [str(kind) for kind in table.schema.types[:3]] == ["string", "date32[day]", "int64"]
    assert table.column(0).to_pylist() == ["2026-01-02", "infinity"]
    assert table.column(3).to_pylist() == ["b", "b"] and table.column(5).to_pylist() == [[1], [1]]


def test_lists_and_structures_of_a_table_and_csv_have_numbers() -> None:
    _, rows = names_and_rows(answered("SELECT [sum(2)] AS a, {'x': 1.5} AS b, 1.50 AS c"))
    assert rows[0][:2] == ("[2]", '{"x": 1.5}')
    assert str(rows[0][2]) == "1.50"


def test_an_answer_without_rows_keeps_its_columns() -> None:
    table = answered("SELECT DATE 'infinity' AS a, 1::HUGEINT AS b, [1::HUGEINT] AS c WHERE false")
    assert (table.num_rows, table.column_names) == (0, ["a", "b", "c"])
