"""Lists for other trainers: a round's pairs with their scores, and what scores from elsewhere need to know."""

from pathlib import Path

import polars as pl

from warehouse.connect import Warehouse
from warehouse.errors import WarehouseError
from warehouse.rows import only

PAIRS = """
WITH listed AS (
    SELECT corpus, teacher_id, query_key, passage_key, 0 AS rank, logit, judgement, verdict, weight
    FROM positive_facts
    WHERE run = $run AND round = $round
    UNION ALL
    SELECT corpus, teacher_id, query_key, passage_key, rank, logit, judgement, verdict, weight
    FROM candidate_facts
    WHERE run = $run AND round = $round AND verdict <> 'positive'
)
SELECT qi.external_id AS query_id, q.text AS query, pi.external_id AS passage_id, p.text AS passage, f.logit,
    f.judgement, f.verdict, f.weight > 0 AS listed
FROM listed AS f
JOIN queries AS q ON q.query_key = f.query_key
JOIN passages AS p ON p.passage_key = f.passage_key
JOIN query_ids AS qi ON qi.corpus = f.corpus AND qi.query_key = f.query_key AND qi.shown
JOIN passage_ids AS pi ON pi.corpus = f.corpus AND pi.passage_key = f.passage_key AND pi.shown
ORDER BY q.text_hash, f.rank, p.text_hash
"""
KINDS = {"query": ("queries", "query_key"), "passage": ("passages", "passage_key")}


def list_rows(wh: Warehouse, run: int, number: int) -> pl.DataFrame:
    """Every pair of a denoised round, by query, positives first, then by the student's rank.

    Columns: query_id, query, passage_id, passage, logit and judgement (null where not scored), verdict, listed
    (training reads it).
    """
    with wh.read() as con:
        frame: pl.DataFrame = con.sql(PAIRS, params={"run": run, "round": number}).pl()
    return frame


def teachers(wh: Warehouse) -> list[tuple[str, str]]:
    """Names and fingerprints of the teachers, in the order of their registration."""
    with wh.read() as con:
        rows = con.execute("SELECT name, fingerprint FROM models WHERE role = 'teacher' ORDER BY model_id").fetchall()
    return [(str(name), str(fingerprint)) for name, fingerprint in rows]


def id_hashes(wh: Warehouse, corpus: str, kind: str) -> pl.DataFrame:
    """The present ids of a corpus' queries or passages: `id, hash`."""
    table, key = KINDS[kind]
    sql = (
        f"SELECT i.external_id AS id, d.text_hash AS hash FROM {kind}_ids AS i JOIN {table} AS d USING ({key}) "
        "WHERE i.corpus = $corpus AND i.until IS NULL"
    )
    with wh.read() as con:
        frame: pl.DataFrame = con.sql(sql, params={"corpus": corpus}).pl()
    return frame


def unknown_texts(wh: Warehouse, kind: str, texts: pl.DataFrame) -> pl.DataFrame:
    """Those of `hash, text` that the warehouse does not have.

    Raises:
        WarehouseError: A hash names another text there; the scores of one would be taken for the other's.
    """
    table, _ = KINDS[kind]
    with wh.read() as con:
        con.register("asked", texts.to_arrow())
        clash = con.execute(
            f"SELECT a.text, d.text FROM asked AS a JOIN {table} AS d ON d.text_hash = a.hash WHERE d.text <> a.text"
        ).fetchall()
        if clash:
            raise WarehouseError(f"{clash[0][0]!r:.80} has the hash of another {kind}, {clash[0][1]!r:.80}")
        frame: pl.DataFrame = con.sql(
            f"SELECT hash, text FROM asked ANTI JOIN {table} AS d ON d.text_hash = asked.hash"
        ).pl()
        con.unregister("asked")
    return frame


def add_texts(wh: Warehouse, kind: str, texts: pl.DataFrame) -> int:
    """Give keys to texts (`hash, text`) that the warehouse does not have; they belong to no corpus yet."""
    table, key = KINDS[kind]
    with wh.write(f"add {table}") as con:
        con.register("added", texts.to_arrow())
        (count,) = only(
            con,
            f"INSERT INTO {table} ({key}, text_hash, text) SELECT (SELECT coalesce(max({key}), 0) FROM {table}) + "
            "row_number() OVER (ORDER BY a.hash), a.hash, a.text FROM added AS a "
            f"ANTI JOIN {table} AS d ON d.text_hash = a.hash ORDER BY a.hash",
        )
        con.unregister("added")
    return int(count)


def compared(wh: Warehouse, teacher: str, scores: Path) -> tuple[int, float]:
    """How many of a file's pairs a teacher has scored already, and the largest difference in logits.

    Args:
        wh: The warehouse.
        teacher: Fingerprint.
        scores: Parquet file: query_hash, passage_hash, logit.
    """
    sql = (
        "SELECT count(*), coalesce(max(abs(s.logit - i.logit)), 0) FROM read_parquet($scores) AS i "
        "JOIN queries AS q ON q.text_hash = i.query_hash JOIN passages AS p ON p.text_hash = i.passage_hash "
        "JOIN models AS m ON m.role = 'teacher' AND m.fingerprint = $teacher "
        "JOIN teacher_scores AS s ON s.teacher_id = m.model_id AND s.query_key = q.query_key "
        "AND s.passage_key = p.passage_key"
    )
    with wh.read() as con:
        count, largest = only(con, sql, {"scores": str(scores), "teacher": teacher})
    return int(count), float(largest)
