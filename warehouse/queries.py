"""Ask the warehouse: what the steps need to know, and what people ask."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from warehouse.answers import answer_table
from warehouse.connect import Warehouse
from warehouse.errors import WarehouseError

# What a question that only reads begins with.
READING = ("SELECT", "FROM", "WITH", "VALUES", "TABLE", "PIVOT", "UNPIVOT", "DESC", "SHOW", "SUMMARIZE", "(")
# What a question may not do, in an order that DuckDB takes. Without external access it still opens the database's own
# file and its temporary folder, so that a question is left no file system at all; large ones cannot spill then.
LOCKS = (
    "SET temp_directory = ''",
    "SET enable_external_access = false",
    "SET python_enable_replacements = false",
    "SET disabled_filesystems = 'LocalFileSystem'",
    "SET lock_configuration = true",
)
PAIRS = "(SELECT DISTINCT query_hash, passage_hash FROM read_parquet($pairs))"
SCORED = """
SELECT q.text_hash AS query_hash, p.text_hash AS passage_hash, s.logit, s.n_tokens, s.truncated
FROM teacher_scores AS s
JOIN models AS m ON m.model_id = s.teacher_id AND m.role = 'teacher' AND m.fingerprint = $teacher
JOIN queries AS q ON q.query_key = s.query_key
JOIN passages AS p ON p.passage_key = s.passage_key
"""


def pending_pairs(wh: Warehouse, teacher_fingerprint: str, pairs: Path) -> pl.DataFrame:
    """Pairs that a teacher has not scored yet, sorted: query_hash, passage_hash.

    Args:
        wh: The warehouse.
        teacher_fingerprint: The teacher; one that is not registered has scored nothing.
        pairs: Parquet file: query_hash, passage_hash; pairs that repeat count once.
    """
    sql = (
        f"SELECT w.query_hash, w.passage_hash FROM {PAIRS} AS w ANTI JOIN ({SCORED}) AS s "
        "ON s.query_hash = w.query_hash AND s.passage_hash = w.passage_hash ORDER BY w.query_hash, w.passage_hash"
    )
    return _frame(wh, sql, {"pairs": str(pairs), "teacher": teacher_fingerprint})


def stored_scores(wh: Warehouse, teacher_fingerprint: str, pairs: Path) -> pl.DataFrame:
    """Scores that are there for pairs, sorted: query_hash, passage_hash, logit, n_tokens, truncated.

    Args:
        wh: The warehouse.
        teacher_fingerprint: The teacher.
        pairs: Parquet file: query_hash, passage_hash; pairs that repeat count once.
    """
    sql = (
        f"SELECT w.query_hash, w.passage_hash, s.logit, s.n_tokens, s.truncated FROM {PAIRS} AS w "
        f"JOIN ({SCORED}) AS s ON s.query_hash = w.query_hash AND s.passage_hash = w.passage_hash "
        "ORDER BY w.query_hash, w.passage_hash"
    )
    return _frame(wh, sql, {"pairs": str(pairs), "teacher": teacher_fingerprint})


def leaderboard(wh: Warehouse, run_id: int) -> pl.DataFrame:
    """Every system of a run, best first within split and measure: system, split, measure, value, chance, queries."""
    sql = (
        "SELECT system, split, measure, value, chance, queries FROM leaderboard WHERE run = $run "
        "ORDER BY split, measure, value DESC, system"
    )
    return _frame(wh, sql, {"run": run_id})


def steps(wh: Warehouse, run_id: int) -> pl.DataFrame:
    """What each step of a run took: round, step, artifact (fingerprint), made (in this run), seconds, path."""
    sql = "SELECT round, step, artifact, made, seconds, path FROM steps WHERE run = $run ORDER BY round, step, artifact"
    return _frame(wh, sql, {"run": run_id})


def run_rows(wh: Warehouse) -> pl.DataFrame:
    """All runs, newest first: run, flow, recipe, corpus, status, started_at, seconds, rounds, error."""
    sql = (
        "SELECT u.run_id AS run, u.flow, u.recipe, u.corpus, u.status, u.started_at, "
        "epoch(u.finished_at) - epoch(u.started_at) AS seconds, "
        "coalesce(max(r.round), 0) AS rounds, u.error FROM runs AS u LEFT JOIN rounds AS r ON r.run_id = u.run_id "
        "GROUP BY ALL ORDER BY u.run_id DESC"
    )
    return _frame(wh, sql, {})


def quality(wh: Warehouse) -> pl.DataFrame:
    """Checks that the warehouse does not pass: name, problems, meaning; empty when it is healthy."""
    return _frame(wh, "SELECT name, problems, meaning FROM data_quality WHERE problems > 0 ORDER BY name", {})


def select(wh: Warehouse, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Answer a person's question: column names and rows. See `select_arrow`."""
    table = select_arrow(wh, sql)
    columns = [column.to_pylist() for column in table.columns]
    return list(table.column_names), list(zip(*columns, strict=True))


def select_arrow(wh: Warehouse, sql: str) -> Any:
    """Answer a person's question as a pyarrow Table, of the types that `warehouse.answers` tells.

    The connection can only read the tables of this one file: it is read-only, opens no file (nor this one again) and no
    network, and its configuration is locked.

    Raises:
        WarehouseError: It is not one statement that reads, it reaches for a file, or it needs too much memory.
        duckdb.Error: DuckDB does not understand it.
    """
    with wh.read(alone=True) as con:
        for lock in LOCKS:
            con.execute(lock)
        _refuse_other_than_reading(con, sql)
        with _in_words(con):
            return _interruptible(con, lambda: _answer(con, sql))


@contextmanager
def _in_words(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """What DuckDB refuses because of how it was locked, in words that fit a question."""
    try:
        yield
    except duckdb.PermissionException as error:
        raise WarehouseError(
            "a question reads the warehouse's tables, views and macros; files (the warehouse's own too) and the "
            f"network are out of its reach: {error}"
        ) from error
    except duckdb.OutOfMemoryException as error:
        ((limit,),) = con.execute("SELECT current_setting('memory_limit')").fetchall()
        raise WarehouseError(
            f"the question needs more than the {limit} of memory that it gets (a quarter of this machine's); ask for "
            "fewer rows or columns, or open warehouse.snapshot.duckdb with DuckDB itself, which can use the disk too"
        ) from error


def _interruptible(con: duckdb.DuckDBPyConnection, work: Callable[[], Any]) -> Any:
    """Work in another thread, so that Ctrl-C is heard: DuckDB looks for signals rarely while it computes."""
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        try:
            return done.result()
        except KeyboardInterrupt:
            con.interrupt()
            raise


def _answer(con: duckdb.DuckDBPyConnection, sql: str) -> Any:
    end = _semicolon(sql)  # DuckDB takes no comment after it here
    answer = con.sql(sql if end is None else sql.encode("utf-8")[:end].decode("utf-8"))
    if answer is None:
        raise WarehouseError(f"{sql.strip()!r} has no answer to show; ask with SELECT")
    return answer_table(con, answer)


def is_complete(sql: str) -> bool:
    """Whether a question ends here: with a semicolon that is no part of a text, a name or a comment."""
    return _semicolon(sql) is not None


def _semicolon(sql: str) -> int | None:
    """The byte at which the semicolon stands that ends a question; None where there is none."""
    words = [start for start, kind in duckdb.tokenize(sql) if kind != duckdb.token_type.comment]
    ends = bool(words) and sql.encode("utf-8")[words[-1] :].decode("utf-8").lstrip().startswith(";")
    return words[-1] if ends else None


def _refuse_other_than_reading(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = con.extract_statements(sql)
    # MULTI looks up the columns of a PIVOT first, which may stand in a COPY; the connection refuses whatever writes
    # into the database and into files; here it is said in words.
    allowed = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN, duckdb.StatementType.MULTI}
    if not statements:
        raise WarehouseError("the question is empty; ask with SELECT")
    if len(statements) != 1:
        raise WarehouseError(f"one statement at a time, not {len(statements)}; the answers of the others would be lost")
    kind, verb = statements[0].type, _verb(sql)
    if kind not in allowed or not verb.startswith(READING):
        told = verb if kind in allowed else kind.name
        raise WarehouseError(f"the warehouse is opened to read; {told} is not allowed here, ask with SELECT")


def _verb(sql: str) -> str:
    """The word that a statement begins with; behind EXPLAIN, ANALYZE (which does it) and options in parentheses."""
    raw, depth = sql.encode("utf-8"), 0
    starts = [start for start, kind in duckdb.tokenize(sql) if kind != duckdb.token_type.comment]
    words = [re.split(rb"[\s(;]", raw[start:], maxsplit=1)[0].decode("utf-8").upper() or "(" for start in starts]
    if words[0] != "EXPLAIN":
        return words[0]
    for word in words[1:]:
        depth += word.startswith("(") - word.startswith(")")
        if not (depth or word.startswith((")", "ANALYZE"))):
            return word
    return "EXPLAIN"


def _frame(wh: Warehouse, sql: str, values: dict[str, Any]) -> pl.DataFrame:
    with wh.read() as con:
        frame: pl.DataFrame = con.sql(sql, params=values).pl()
    return frame
