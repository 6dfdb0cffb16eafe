"""Answers to people's questions as Arrow tables that hold what the question's types say, in types that others know.

| DuckDB | becomes |
| --- | --- |
| HUGEINT (what `sum` makes of whole numbers) | 64-bit whole numbers; text where one of the column is larger |
| UHUGEINT, BIGNUM, BIT, BLOB, INTERVAL, MAP, UNION, VARIANT, times with a time zone | text, as DuckDB spells it |
| dates and times, outside the years 1 to 9999 or infinite anywhere in the column; times of 24:00:00 | the same |
| everything else | what Arrow calls it |

Lists and structures follow what is in them.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    import pyarrow as pa

# Types that other programs cannot take over from Arrow as they are, or that Arrow cuts.
ONLY_DUCKDB = (
    "INTERVAL",
    "BIT",
    "BLOB",
    "UNION",
    "BIGNUM",
    "VARIANT",
    "TIME WITH TIME ZONE",
    "MAP",
    "UHUGEINT",
)
DAY = 86_400
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, counted from 1970-01-01
LARGEST = 2**63 - 1  # DuckDB's infinite times are this and its negative
A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def answer_table(con: duckdb.DuckDBPyConnection, answer: duckdb.DuckDBPyRelation) -> "pa.Table":
    """Fetch an answer; column names may repeat.

    Args:
        con: The connection that the answer comes from.
        answer: The answer, not fetched yet.
    """
    table = _spelled(answer, [_is_foreign(kind) for kind in answer.types]).to_arrow_table()
    large = [False] * table.num_columns
    for number, kind in enumerate(answer.types):
        if "HUGEINT" in str(kind) and "UHUGEINT" not in str(kind):
            table, large[number] = _in_64_bits(table, number)
    unfit = [too_large or not _fits(column) for too_large, column in zip(large, table.columns, strict=True)]
    if not any(unfit):
        return table
    names = table.column_names
    numbered = table.rename_columns([str(number) for number in range(len(names))])
    # Arrow holds these bits as DuckDB gave them, so that nothing has to be asked twice.
    return _spelled(con.from_arrow(numbered), unfit).to_arrow_table().rename_columns(names)


def _spelled(answer: duckdb.DuckDBPyRelation, as_text: list[bool]) -> duckdb.DuckDBPyRelation:
    columns = []
    for number, (name, spelled) in enumerate(zip(answer.columns, as_text, strict=True), start=1):
        quoted = '"' + name.replace('"', '""') + '"'
        columns.append(f"CAST(#{number} AS VARCHAR) AS {quoted}" if spelled else f"#{number} AS {quoted}")
    return answer.project(", ".join(columns))


def _is_foreign(kind: Any) -> bool:
    return any(word in str(kind) for word in ONLY_DUCKDB)


def _in_64_bits(table: "pa.Table", number: int) -> tuple["pa.Table", bool]:
    """The table with a column's HUGEINTs in 64 bits; as it was, and True, where one is too large for that."""
    import pyarrow as pa

    field = table.schema.field(number)
    smaller = field.with_type(_narrowed(field.type))
    try:
        return table.set_column(number, smaller, table.column(number).cast(smaller.type)), False
    except pa.ArrowInvalid:
        return table, True


def _narrowed(kind: "pa.DataType") -> "pa.DataType":
    """The type with 64 bits for what Arrow calls a HUGEINT."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        return pa.struct([field.with_type(_narrowed(field.type)) for field in fields])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_narrowed(kind.value_type), kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(_narrowed(kind.value_type))
    return pa.int64() if kind.equals(pa.decimal128(38, 0)) else kind


def _fits(column: Any) -> bool:
    """Whether every date and time of a column, in its lists and structures too, is one that other programs know."""
    import pyarrow.compute as pc

    for leaf in _leaves(column):
        limits = _limits(leaf.type)
        if limits is None:
            continue
        extremes = pc.min_max(leaf.cast(f"int{leaf.type.bit_width}")).as_py()
        if extremes["min"] is not None and not limits[0] <= extremes["min"] <= extremes["max"] <= limits[1]:
            return False
    return True


def _leaves(column: Any) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_struct(kind):
        for number in range(kind.num_fields):
            yield from _leaves(pc.struct_field(column, [number]))
    elif pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _leaves(pc.list_flatten(column))
    else:
        yield column


def _limits(kind: "pa.DataType") -> tuple[int, int] | None:
    """The smallest and the largest date or time that other programs know; None for other types."""
    import pyarrow as pa

    if pa.types.is_date32(kind):
        return FIRST_DAY, LAST_DAY
    if pa.types.is_time64(kind):
        return 0, DAY * A_SECOND[kind.unit] - 1
    if pa.types.is_timestamp(kind):
        first, end = FIRST_DAY * DAY * A_SECOND[kind.unit], (LAST_DAY + 1) * DAY * A_SECOND[kind.unit]
        return max(first, 1 - LARGEST), min(end, LARGEST) - 1
    return None
