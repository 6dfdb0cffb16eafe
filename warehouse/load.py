"""Load finished Parquet files: each once, whole, in one transaction with its row in the ledger `shard_loads`.

Files name texts by their hashes; the warehouse keeps integer keys. A file that does not fit is refused as a whole. What
every load checks is quick to count; which rows are wrong is looked up only where some are.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from warehouse.connect import Warehouse
from warehouse.errors import WarehouseError
from warehouse.load_corpus import load_corpus, load_texts
from warehouse.register import (
    close_killed,
    finish_run,
    link_round,
    record_artifact,
    register_artifact,
    register_model,
    start_run,
)
from warehouse.rows import first, only

__all__ = [
    "close_killed",
    "finish_run",
    "link_round",
    "load_candidates",
    "load_corpus",
    "load_diagnostics",
    "load_history",
    "load_metrics",
    "load_query_metrics",
    "load_rankings",
    "load_scores",
    "load_texts",
    "load_verdicts",
    "record_artifact",
    "register_artifact",
    "register_model",
    "start_run",
]


@dataclass(frozen=True)
class Fact:
    """A fact table and the Parquet file that fills it.

    Attributes:
        table: Where the rows go.
        texts: Kinds of text that the file names by hash, in sorting order.
        columns: The other columns, which have the same name in the file and in the table.
        unique: Columns that name a row within the file, and order the rows; empty where rows may repeat.
    """

    table: str
    texts: tuple[str, ...]
    columns: tuple[str, ...]
    unique: tuple[str, ...]


TABLES = {"query": "queries", "passage": "passages"}
PAIR = ("query", "passage")
PAIR_KEYS = ("query_key", "passage_key")
SCORES = Fact("teacher_scores", PAIR, ("logit", "n_tokens", "truncated"), PAIR_KEYS)
CANDIDATES = Fact("candidates", PAIR, ("rank", "student_score", "miner"), PAIR_KEYS)
RANKINGS = Fact("rankings", PAIR, ("rank", "score"), PAIR_KEYS)
VERDICTS = Fact("verdicts", PAIR, ("verdict", "reason", "weight", "probability", "judgement"), PAIR_KEYS)
METRICS = Fact(
    "metrics", (), ("system", "split", "measure", "value", "chance", "queries"), ("system", "split", "measure")
)
QUERY_METRICS = Fact(
    "query_metrics", ("query",), ("system", "split", "measure", "value"), ("system", "split", "measure", "query_key")
)
DIAGNOSTICS = Fact("diagnostics", (), ("name", "value", "note"), ())
HISTORY = Fact("history", (), ("step", "epoch", "loss", "measure", "seconds", "tokens"), ())


def load_scores(
    wh: Warehouse, run_id: int, teacher_fingerprint: str, shard: Path, name: str, where: Mapping[str, Any]
) -> int:
    """Load a shard of teacher scores and return how many were new.

    Args:
        wh: The warehouse.
        run_id: The run that loads it.
        teacher_fingerprint: The teacher, which must be registered.
        shard: Parquet file: query_hash, passage_hash, logit, n_tokens, truncated.
        name: The shard's name in the ledger; a name that was loaded before is not loaded again.
        where: How it was computed: precision, device, versions, seconds.

    Raises:
        WarehouseError: A logit is not finite, a pair is there twice, or a text is unknown; nothing was loaded.
    """
    with wh.write(f"load {name}") as con:
        if _loaded(con, name):
            return 0
        teacher = _teacher(con, teacher_fingerprint, shard)
        rows = _stage(con, SCORES, shard)
        _refuse_nonfinite(con, shard)
        ledger = {"teacher_id": teacher, "run_id": run_id, "n_rows": rows, **_where(where)}
        # Not an anti-join in the INSERT: where the table is the larger side, that gives up the order of the rows.
        con.execute(
            "DELETE FROM incoming AS i USING teacher_scores AS s WHERE s.teacher_id = ? "
            "AND s.query_key = i.query_key AND s.passage_key = i.passage_key",
            [teacher],
        )
        return _insert(
            con,
            shard,
            "INSERT INTO teacher_scores "
            "SELECT $id, query_key, passage_key, logit, n_tokens, truncated, $run, now() FROM incoming",
            {"id": teacher, "run": run_id},
            {"name": name, "table_name": "teacher_scores", **ledger},
        )


def _teacher(con: duckdb.DuckDBPyConnection, fingerprint: str, shard: Path) -> int:
    row = first(con, "SELECT model_id FROM models WHERE role = 'teacher' AND fingerprint = ?", [fingerprint])
    if row is None:
        raise WarehouseError(f"{shard}: teacher {fingerprint} is not registered; its scores would be nobody's")
    return int(row[0])


def load_candidates(wh: Warehouse, run_id: int, artifact_id: int, parquet: Path, name: str) -> int:
    """Load what a student retrieved: query_hash, passage_hash, rank, student_score, miner."""
    return _load(wh, CANDIDATES, run_id, artifact_id, parquet, name)


def load_verdicts(wh: Warehouse, run_id: int, artifact_id: int, parquet: Path, name: str) -> int:
    """Load what denoising decided: query_hash, passage_hash, verdict, reason, weight, probability, judgement."""
    return _load(wh, VERDICTS, run_id, artifact_id, parquet, name)


def load_metrics(wh: Warehouse, run_id: int, artifact_id: int, parquet: Path, name: str) -> int:
    """Load means over queries: system, split, measure, value, chance, queries."""
    return _load(wh, METRICS, run_id, artifact_id, parquet, name)


def load_query_metrics(wh: Warehouse, run_id: int, artifact_id: int, parquet: Path, name: str) -> int:
    """Load values per query: query_hash, system, split, measure, value."""
    return _load(wh, QUERY_METRICS, run_id, artifact_id, parquet, name)


def load_rankings(wh: Warehouse, run_id: int, artifact_id: int, parquet: Path, name: str) -> int:
    """Load what an evaluated system ranked first: query_hash, passage_hash, rank, score."""
    return _load(wh, RANKINGS, run_id, artifact_id, parquet, name)


def load_diagnostics(wh: Warehouse, run_id: int, artifact_id: int, parquet: Path, name: str) -> int:
    """Load what a step noted about its result: name, value, note."""
    return _load(wh, DIAGNOSTICS, run_id, artifact_id, parquet, name)


def load_history(wh: Warehouse, run_id: int, artifact_id: int, parquet: Path, name: str) -> int:
    """Load the course of a training: step, epoch, loss, measure, seconds, tokens."""
    return _load(wh, HISTORY, run_id, artifact_id, parquet, name)


def _load(wh: Warehouse, fact: Fact, run_id: int, artifact_id: int, parquet: Path, name: str) -> int:
    """Load one file of an artifact and return its rows, 0 where the ledger has the name already.

    Raises:
        WarehouseError: The file does not fit (columns, values, repeats, unknown texts); nothing was loaded.
    """
    with wh.write(f"load {name}") as con:
        if _loaded(con, name):
            return 0
        if first(con, "SELECT 1 FROM artifacts WHERE artifact_id = ?", [artifact_id]) is None:
            raise WarehouseError(
                f"{parquet}: artifact {artifact_id} is not registered; its rows would point at nothing"
            )
        rows = _stage(con, fact, parquet)
        listed = ", ".join([*(f"{text}_key" for text in fact.texts), *fact.columns])
        return _insert(
            con,
            parquet,
            f"INSERT INTO {fact.table} (artifact_id, {listed}) SELECT $id, {listed} FROM incoming",
            {"id": artifact_id},
            {"name": name, "table_name": fact.table, "artifact_id": artifact_id, "run_id": run_id, "n_rows": rows},
        )


def _loaded(con: duckdb.DuckDBPyConnection, name: str) -> bool:
    return first(con, "SELECT 1 FROM shard_loads WHERE name = ?", [name]) is not None


def _stage(con: duckdb.DuckDBPyConnection, fact: Fact, parquet: Path) -> int:
    """Read a file into the temporary table `incoming`, sorted, hashes replaced by keys; returns its rows.

    Raises:
        WarehouseError: A column is missing, a text is unknown, or a row repeats.
    """
    keys = [f"d{n}.{text}_key" for n, text in enumerate(fact.texts)]
    joins = [f"LEFT JOIN {TABLES[text]} AS d{n} ON d{n}.text_hash = i.{text}_hash" for n, text in enumerate(fact.texts)]
    columns = ", ".join([*keys, *(f"i.{column}" for column in fact.columns)])
    order = f"ORDER BY {', '.join(fact.unique)}" if fact.unique else ""
    try:
        (rows,) = only(
            con,
            f"CREATE OR REPLACE TEMP TABLE incoming AS "
            f"SELECT {columns} FROM read_parquet(?) AS i {' '.join(joins)} {order}",
            [str(parquet)],
        )
    except duckdb.BinderException as error:
        needed = ", ".join([*(f"{text}_hash" for text in fact.texts), *fact.columns])
        raise WarehouseError(f"{parquet}: {fact.table} needs the columns {needed}; {error}") from error
    for text in fact.texts:
        _refuse_unknown(con, text, parquet)
    _refuse_repeats(con, fact, parquet)
    return int(rows)


def _refuse_unknown(con: duckdb.DuckDBPyConnection, text: str, parquet: Path) -> None:
    (lost,) = only(con, f"SELECT count(*) FROM incoming WHERE {text}_key IS NULL")
    if lost:
        some = con.execute(
            f"SELECT DISTINCT i.{text}_hash FROM read_parquet(?) AS i "
            f"ANTI JOIN {TABLES[text]} AS d ON d.text_hash = i.{text}_hash ORDER BY ALL LIMIT 3",
            [str(parquet)],
        ).fetchall()
        raise WarehouseError(
            f"{parquet}: {lost} rows point at a {text} that the warehouse does not have "
            f"({text}_hash {', '.join(str(row[0]) for row in some)}); load the corpus first; nothing was loaded"
        )


def _refuse_nonfinite(con: duckdb.DuckDBPyConnection, parquet: Path) -> None:
    (bad,) = only(con, "SELECT count(*) FROM incoming WHERE logit IS NULL OR NOT isfinite(logit)")
    if bad:
        some = con.execute(
            "SELECT i.logit, q.text_hash, p.text_hash, left(q.text, 80), left(p.text, 80) "
            "FROM incoming AS i JOIN queries AS q USING (query_key) JOIN passages AS p USING (passage_key) "
            "WHERE i.logit IS NULL OR NOT isfinite(i.logit) ORDER BY q.text_hash, p.text_hash LIMIT 3"
        ).fetchall()
        pairs = "; ".join(f"{row[0]} for query {row[1]} {row[3]!r} and passage {row[2]} {row[4]!r}" for row in some)
        raise WarehouseError(f"{parquet}: {bad} logits are not finite numbers ({pairs}); nothing was loaded")


def _refuse_repeats(con: duckdb.DuckDBPyConnection, fact: Fact, parquet: Path) -> None:
    """Compare every row with the one before it: `incoming` is sorted, and grouping it takes thirty times as long."""
    if not fact.unique:
        return
    listed = ", ".join(fact.unique)
    before = ", ".join(f"lag({column}) OVER () AS before_{n}" for n, column in enumerate(fact.unique))
    same = " AND ".join(f"{column} = before_{n}" for n, column in enumerate(fact.unique))
    (repeats,) = only(con, f"SELECT count(*) FROM (SELECT {listed}, {before} FROM incoming) WHERE {same}")
    if repeats:
        row = only(con, f"SELECT count(*), {listed} FROM incoming GROUP BY {listed} HAVING count(*) > 1 LIMIT 1")
        values = ", ".join(_named(con, column, value) for column, value in zip(fact.unique, row[1:], strict=True))
        raise WarehouseError(f"{parquet}: {values} stands there {row[0]} times; nothing was loaded")


def _named(con: duckdb.DuckDBPyConnection, column: str, value: Any) -> str:
    """A value as the file has it: texts by hash."""
    text = column.removesuffix("_key")
    if text not in TABLES:
        return f"{column} {value}"
    (hashed,) = only(con, f"SELECT text_hash FROM {TABLES[text]} WHERE {column} = ?", [value])
    return f"{text}_hash {hashed}"


def _insert(
    con: duckdb.DuckDBPyConnection, parquet: Path, sql: str, values: dict[str, Any], ledger: dict[str, Any]
) -> int:
    """Insert from `incoming`, write the ledger's row, return how many rows went in."""
    try:
        (new,) = only(con, sql, values)
    except (duckdb.ConstraintException, duckdb.ConversionException) as error:
        raise WarehouseError(
            f"{parquet}: a value does not fit {ledger['table_name']}; nothing was loaded: {error}"
        ) from error
    row = {**ledger, "n_new": new}
    marks = ", ".join("?" for _ in row)
    con.execute(f"INSERT INTO shard_loads ({', '.join(row)}, loaded_at) VALUES ({marks}, now())", list(row.values()))
    return int(new)


def _where(where: Mapping[str, Any]) -> dict[str, Any]:
    known = ("precision", "device", "versions", "seconds")
    if unknown := set(where) - set(known):
        raise ValueError(f"where a shard was computed is {', '.join(known)}; got {', '.join(sorted(unknown))}")
    row = dict(where)
    if "versions" in row and not isinstance(row["versions"], str):
        row["versions"] = json.dumps(row["versions"], sort_keys=True)
    return row
