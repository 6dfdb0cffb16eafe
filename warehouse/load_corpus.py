"""Load a corpus: new texts get keys, ids and labels that are gone are closed, what is unchanged is not touched."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from warehouse.connect import Warehouse
from warehouse.errors import WarehouseError
from warehouse.rows import first, only


@dataclass(frozen=True)
class Kept:
    """A table of rows that are opened and closed but never deleted.

    Attributes:
        table: The table.
        columns: What makes a row the same row; `corpus` comes on top.
        incoming: SELECT of these columns from the incoming corpus.
        closes: Condition on open rows that this load may close.
    """

    table: str
    columns: tuple[str, ...]
    incoming: str
    closes: str = "true"


KEPT = (
    Kept(
        "passage_ids",
        ("external_id", "title", "passage_key", "document"),
        "SELECT i.external_id, i.title, d.passage_key, i.document FROM in_passage_ids AS i "
        "JOIN passages AS d ON d.text_hash = i.hash",
    ),
    Kept(
        "query_ids",
        ("external_id", "split", "query_key"),
        "SELECT i.external_id, i.split, d.query_key FROM in_query_ids AS i JOIN queries AS d ON d.text_hash = i.hash",
    ),
    Kept(
        "labels",
        ("query_key", "passage_key", "grade", "split", "source"),
        "SELECT q.query_key, p.passage_key, i.grade, i.split, i.source FROM in_labels AS i "
        "JOIN queries AS q ON q.text_hash = i.query_hash JOIN passages AS p ON p.text_hash = i.passage_hash",
        # Labels that people added in the warehouse are not in the source and stay.
        "t.source = 'given' OR t.source IN (SELECT source FROM in_labels)",
    ),
)

# Files of the artifact and the columns that are read, with their types: an empty file knows no types of its own.
FILES = {
    "passages": {"hash": "BIGINT", "text": "VARCHAR"},
    "passage_ids": {"external_id": "VARCHAR", "title": "VARCHAR", "hash": "BIGINT", "document": "VARCHAR"},
    "queries": {"hash": "BIGINT", "text": "VARCHAR"},
    "query_ids": {"external_id": "VARCHAR", "hash": "BIGINT", "split": "VARCHAR"},
    "labels": {
        "query_hash": "BIGINT",
        "passage_hash": "BIGINT",
        "grade": "INTEGER",
        "split": "VARCHAR",
        "source": "VARCHAR",
    },
}

TEXTS = ("passages", "queries")


def load_corpus(
    wh: Warehouse, run_id: int, corpus_name: str, folder: Path, artifact_fingerprint: str
) -> dict[str, int]:
    """Bring a corpus to the state of an ingest artifact and say that the run works on it.

    Call it in every run: it does nothing but that where the corpus is in this state already.

    Args:
        wh: The warehouse.
        run_id: The run.
        corpus_name: Name of the corpus.
        folder: Holds passages, passage_ids, queries, query_ids and labels as Parquet; of a cut corpus, documents and
            judgements too.
        artifact_fingerprint: The ingest artifact.

    Returns:
        How many passages and queries are new, and how many ids and labels were opened and closed.

    Raises:
        WarehouseError: Two texts have one hash, an id means two texts, or a row points at no text; nothing was loaded.
    """
    with wh.write(f"load corpus {corpus_name}") as con:
        if only(con, "UPDATE runs SET corpus = ? WHERE run_id = ?", [corpus_name, run_id]) == (0,):
            raise WarehouseError(f"runs has no run {run_id}; corpus {corpus_name} would be loaded by nobody")
        if _newest(con, corpus_name) == (artifact_fingerprint,):
            return _nothing()
        _stage(con, folder, FILES)
        _label_parts(con, folder)
        _check_texts(con, folder)
        _check_rows(con, folder)
        counts = {f"{kind}_new": _add_texts(con, kind) for kind in TEXTS}
        for kept in KEPT:
            counts |= _reconcile(con, kept, corpus_name)
        for table, key in (("passage_ids", "passage_key"), ("query_ids", "query_key")):
            _choose_shown(con, table, key, corpus_name)
        con.execute(
            "INSERT INTO corpus_loads SELECT coalesce(max(load_id), 0) + 1, ?, ?, ?, ?, now() FROM corpus_loads",
            [corpus_name, artifact_fingerprint, json.dumps(counts), run_id],
        )
        return counts


def load_texts(wh: Warehouse, folder: Path) -> dict[str, int]:
    """Add texts that are in the warehouse under no key yet; what is there stays, and no corpus gets an id or a label.

    Args:
        wh: The warehouse.
        folder: Holds passages and queries as Parquet: hash, text.

    Returns:
        How many passages and queries are new.

    Raises:
        WarehouseError: Two texts have one hash; nothing was loaded.
    """
    with wh.write("load texts") as con:
        _stage(con, folder, TEXTS)
        _check_texts(con, folder)
        return {f"{kind}_new": _add_texts(con, kind) for kind in TEXTS}


def _newest(con: duckdb.DuckDBPyConnection, corpus: str) -> tuple[str, ...] | None:
    """The artifact loaded last: one that was loaded at any time may have been replaced since, and be back."""
    sql = "SELECT artifact_fingerprint FROM corpus_loads WHERE corpus = ? ORDER BY load_id DESC LIMIT 1"
    return first(con, sql, [corpus])


def _nothing() -> dict[str, int]:
    kept = {f"{kept.table}_{what}": 0 for kept in KEPT for what in ("opened", "closed")}
    return {"passages_new": 0, "queries_new": 0, **kept}


def _stage(con: duckdb.DuckDBPyConnection, folder: Path, files: Iterable[str]) -> None:
    for name in files:
        columns = FILES[name]
        file = folder / f"{name}.parquet"
        listed = ", ".join(f"CAST({column} AS {kind}) AS {column}" for column, kind in columns.items())
        try:
            con.execute(f"CREATE OR REPLACE TEMP TABLE in_{name} AS SELECT {listed} FROM read_parquet(?)", [str(file)])
        except duckdb.BinderException as error:
            raise WarehouseError(f"{file}: needs the columns {', '.join(columns)}; {error}") from error


def _label_parts(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Label every passage of a labelled document, where documents were cut: whichever of them is found, it is right.

    The artifact's own labels name the one passage that a student learns from.
    """
    files = [folder / "judgements.parquet", folder / "documents.parquet"]
    if all(file.exists() for file in files):
        con.execute(
            "CREATE OR REPLACE TEMP TABLE in_labels AS SELECT j.query_hash, d.passage_hash, "
            "CAST(max(j.grade) AS INTEGER) AS grade, j.split, j.source FROM read_parquet(?) AS j "
            "JOIN read_parquet(?) AS d ON d.document_hash = j.passage_hash GROUP BY ALL",
            [str(file) for file in files],
        )


def _check_texts(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Refuse texts that would be given the scores of others."""
    for kind in TEXTS:
        _refuse(
            con,
            f"SELECT i.hash, d.text, i.text FROM in_{kind} AS i JOIN {kind} AS d ON d.text_hash = i.hash "
            "WHERE d.text <> i.text",
            f"{folder / kind}.parquet: one hash for a text of the warehouse and another text; "
            "scores of one would be taken for the other",
        )
        _refuse(
            con,
            f"SELECT hash, min(text), max(text) FROM in_{kind} GROUP BY hash HAVING count(*) > 1",
            f"{folder / kind}.parquet: one hash stands there for two rows; scores of one would be taken for the other",
        )


def _check_rows(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Refuse ids and labels that would point at the wrong text."""
    for kind, texts in (("passage_ids", "passages"), ("query_ids", "queries")):
        _refuse(
            con,
            f"SELECT external_id, count(*) FROM in_{kind} GROUP BY external_id HAVING count(*) > 1",
            f"{folder / kind}.parquet: an id stands there more than once; labels on it would be ambiguous",
        )
        _refuse(
            con,
            f"SELECT external_id, hash FROM in_{kind} ANTI JOIN in_{texts} USING (hash)",
            f"{folder / kind}.parquet: an id of a text that {texts}.parquet does not have",
        )
    for kind, texts in (("query", "queries"), ("passage", "passages")):
        _refuse(
            con,
            f"SELECT query_hash, passage_hash FROM in_labels AS i ANTI JOIN in_{texts} AS d ON d.hash = i.{kind}_hash",
            f"{folder / 'labels'}.parquet: a label on a {kind} that {texts}.parquet does not have",
        )
    _refuse(
        con,
        "SELECT query_hash, passage_hash, count(*) FROM in_labels GROUP BY query_hash, passage_hash, source "
        "HAVING count(*) > 1",
        f"{folder / 'labels'}.parquet: one source labels a pair more than once",
    )


def _refuse(con: duckdb.DuckDBPyConnection, sql: str, sentence: str) -> None:
    rows = con.execute(f"SELECT *, count(*) OVER () FROM ({sql}) LIMIT 3").fetchall()
    if rows:
        examples = "; ".join(", ".join(repr(value)[:80] for value in row[:-1]) for row in rows)
        raise WarehouseError(f"{sentence} ({rows[0][-1]} times: {examples}); nothing was loaded")


def _add_texts(con: duckdb.DuckDBPyConnection, kind: str) -> int:
    """Give keys to texts that have none, in the order of their hashes, so that a reload gives the same order."""
    key = {"passages": "passage_key", "queries": "query_key"}[kind]
    (added,) = only(
        con,
        f"INSERT INTO {kind} ({key}, text_hash, text) "
        f"SELECT (SELECT coalesce(max({key}), 0) FROM {kind}) + row_number() OVER (ORDER BY i.hash), i.hash, i.text "
        f"FROM in_{kind} AS i ANTI JOIN {kind} AS d ON d.text_hash = i.hash ORDER BY i.hash",
    )
    return int(added)


def _reconcile(con: duckdb.DuckDBPyConnection, kept: Kept, corpus: str) -> dict[str, int]:
    """Close open rows that are not incoming, open incoming rows that are not open."""
    con.execute(f"CREATE OR REPLACE TEMP TABLE wanted AS SELECT DISTINCT * FROM ({kept.incoming})")
    same = " AND ".join(f"t.{column} = w.{column}" for column in kept.columns)
    (closed,) = only(
        con,
        f"UPDATE {kept.table} AS t SET until = now() WHERE t.corpus = ? AND t.until IS NULL AND ({kept.closes}) "
        f"AND NOT EXISTS (SELECT 1 FROM wanted AS w WHERE {same})",
        [corpus],
    )
    listed = ", ".join(kept.columns)
    shown = ", shown" if kept.table.endswith("_ids") else ""
    (opened,) = only(
        con,
        f"INSERT INTO {kept.table} (corpus, {listed}, since{shown}) "
        f"SELECT ?, {listed}, now(){', false' if shown else ''} FROM wanted AS w "
        f"ANTI JOIN (SELECT * FROM {kept.table} WHERE corpus = ? AND until IS NULL) AS t ON {same} "
        f"ORDER BY {', '.join(reversed(kept.columns)) if shown else listed}",
        [corpus, corpus],
    )
    return {f"{kept.table}_opened": int(opened), f"{kept.table}_closed": int(closed)}


def _choose_shown(con: duckdb.DuckDBPyConnection, table: str, key: str, corpus: str) -> None:
    """Mark the one id per text that views show: the smallest open one, else the smallest of those closed last."""
    con.execute(
        f"UPDATE {table} AS t SET shown = NOT t.shown FROM (SELECT rowid AS row, shown, row_number() OVER "
        f"(PARTITION BY {key} ORDER BY until DESC NULLS FIRST, external_id) = 1 AS best "
        f"FROM {table} WHERE corpus = ?) AS c WHERE t.rowid = c.row AND c.best <> c.shown",
        [corpus],
    )
