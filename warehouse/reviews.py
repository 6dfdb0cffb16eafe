"""What people say about candidates: the queue they read, the labels they give, and how far the teacher agrees."""

from dataclasses import dataclass

import duckdb
import polars as pl

from warehouse.connect import Warehouse
from warehouse.errors import WarehouseError
from warehouse.rows import first, only

SOURCE = "review"

QUEUE = """
SELECT c.corpus, q.text_hash AS query_hash, p.text_hash AS passage_hash, qi.external_id AS query_id,
    pi.external_id AS passage_id, q.text AS query, p.text AS passage, c.rank, c.probability, c.verdict, c.reason
FROM candidate_facts AS c
JOIN queries AS q ON q.query_key = c.query_key
JOIN passages AS p ON p.passage_key = c.passage_key
JOIN query_ids AS qi ON qi.corpus = c.corpus AND qi.query_key = c.query_key AND qi.shown
JOIN passage_ids AS pi ON pi.corpus = c.corpus AND pi.passage_key = c.passage_key AND pi.shown
WHERE c.run = $run AND c.round = $round AND c.label IS NULL AND c.verdict <> 'unscored'
ORDER BY abs(c.probability - 0.5) NULLS LAST, q.text_hash, p.text_hash
"""

# Texts that answers name by hashes, with all ids that each has in the corpus.
NAMED = """
SELECT i.row, q.text AS query, p.text AS passage,
    list(DISTINCT qi.external_id ORDER BY qi.external_id) AS query_ids,
    list(DISTINCT pi.external_id ORDER BY pi.external_id) AS passage_ids
FROM incoming_reviews AS i
JOIN queries AS q ON q.text_hash = i.query_hash
JOIN passages AS p ON p.text_hash = i.passage_hash
JOIN query_ids AS qi ON qi.corpus = i.corpus AND qi.query_key = q.query_key
JOIN passage_ids AS pi ON pi.corpus = i.corpus AND pi.passage_key = p.passage_key
GROUP BY ALL
"""

# Columns: row, corpus, query_hash, passage_hash, query_id, passage_id (a pair by its hashes, else by its ids), grade
# (NULL withdraws the label). The text's split is that of any of its ids: ids whose labels left have none.
STAGED = """
CREATE OR REPLACE TEMP TABLE reviewed AS
WITH q_splits AS (
    SELECT corpus, query_key, max(split) AS split, min(split) FILTER (split <> '') AS least
    FROM query_ids WHERE until IS NULL GROUP BY corpus, query_key
)
SELECT i.row, i.corpus, i.grade, q.query_key, q.text AS query, coalesce(ph.passage_key, pi.passage_key) AS passage_key,
    s.split, s.least, EXISTS (
        SELECT 1 FROM passage_ids AS o
        WHERE o.corpus = i.corpus AND o.passage_key = coalesce(ph.passage_key, pi.passage_key) AND o.until IS NULL
    ) AS there
FROM incoming_reviews AS i
LEFT JOIN queries AS qh ON qh.text_hash = i.query_hash
LEFT JOIN passages AS ph ON ph.text_hash = i.passage_hash
LEFT JOIN query_ids AS qi
    ON i.query_hash IS NULL AND qi.corpus = i.corpus AND qi.external_id = i.query_id AND qi.until IS NULL
LEFT JOIN passage_ids AS pi
    ON i.passage_hash IS NULL AND pi.corpus = i.corpus AND pi.external_id = i.passage_id AND pi.until IS NULL
LEFT JOIN queries AS q ON q.query_key = coalesce(qh.query_key, qi.query_key)
LEFT JOIN q_splits AS s ON s.corpus = i.corpus AND s.query_key = q.query_key
"""

REFUSALS = (
    (
        "query_key IS NULL OR split IS NULL",
        "name a query that corpus {corpus} does not have; the label would belong to nothing",
        "'query of row ' || row",
    ),
    (
        "passage_key IS NULL OR NOT there",
        "name a passage that corpus {corpus} does not have; the label would belong to nothing",
        "'passage of row ' || row",
    ),
    (
        "split <> 'train' OR least <> 'train'",
        "review queries outside train; people's labels go into training alone, and trained on these, every measure of "
        "their split would be worthless",
        "'row ' || row || ': ' || left(query, 60) || ' is a query of ' "
        "|| coalesce(nullif(least, 'train'), nullif(split, ''), 'no split')",
    ),
    (
        "(SELECT count(DISTINCT coalesce(o.grade, -1)) FROM reviewed AS o "
        "WHERE o.query_key = reviewed.query_key AND o.passage_key = reviewed.passage_key) > 1",
        "answer for one pair differently; which answer holds would depend on the order of the rows",
        "'row ' || row || ' says ' || coalesce(CAST(grade AS VARCHAR), 'withdraw')",
    ),
    (
        "grade = 0 AND EXISTS (SELECT 1 FROM current_labels AS l WHERE l.corpus = reviewed.corpus "
        "AND l.query_key = reviewed.query_key AND l.passage_key = reviewed.passage_key AND l.grade > 0 "
        "AND list_contains(string_split(l.sources, ','), 'given'))",
        "say no to what the corpus itself labels relevant; the higher grade counts, so the answer would change "
        "nothing: correct the label in the source",
        "'row ' || row",
    ),
)


@dataclass(frozen=True)
class Reviewed:
    """What an import changed: labels that are new, changed, withdrawn, and as they were."""

    new: int
    changed: int
    withdrawn: int
    unchanged: int


def review_queue(wh: Warehouse, run: int, number: int) -> pl.DataFrame:
    """The scored candidates of a round that nobody has labelled, the least certain first.

    Columns: corpus, query_hash, passage_hash, query_id, passage_id, query, passage, rank, probability, verdict, reason.
    """
    with wh.read() as con:
        frame: pl.DataFrame = con.sql(QUEUE, params={"run": run, "round": number}).pl()
    return frame


def last_denoised(wh: Warehouse, run: int | None) -> tuple[int, int] | None:
    """The last round with verdicts, as (run, round): of a run, or of the last run that has one."""
    sql = (
        "SELECT run, round FROM round_parts WHERE judged IS NOT NULL AND ($run IS NULL OR run = $run) "
        "ORDER BY run DESC, round DESC LIMIT 1"
    )
    with wh.read() as con:
        found: tuple[int, int] | None = first(con, sql, {"run": run})
    return found


def corpora(wh: Warehouse) -> list[str]:
    """Names of the corpora that were loaded."""
    with wh.read() as con:
        return [str(name) for (name,) in con.execute("SELECT DISTINCT corpus FROM corpus_loads ORDER BY 1").fetchall()]


def named_texts(wh: Warehouse, answers: pl.DataFrame) -> pl.DataFrame:
    """The texts that answers name by hashes, as far as the corpus has them.

    Columns: row, query, passage, query_ids, passage_ids.
    """
    with wh.read() as con:
        con.register("incoming_reviews", answers.to_arrow())
        frame: pl.DataFrame = con.sql(NAMED).pl()
        con.unregister("incoming_reviews")
    return frame


def load_reviews(wh: Warehouse, source: str, answers: pl.DataFrame) -> Reviewed:
    """Make labels of people's answers: all of them, or none.

    An answer replaces what the same source said of the pair before; other sources' labels stay.

    Args:
        wh: The warehouse.
        source: `review` or `review:NAME`.
        answers: row, corpus, query_hash, passage_hash, query_id, passage_id, grade; a pair is named by its hashes, or
            by its ids where these are null. A null grade withdraws the label.

    Raises:
        WarehouseError: A text is unknown, a query is not a train query, or answers contradict; nothing was changed.
    """
    with wh.write("import reviews") as con:
        con.register("incoming_reviews", answers.to_arrow())
        con.execute(STAGED)
        con.unregister("incoming_reviews")
        for condition, harm, example in REFUSALS:
            _refuse(con, condition, harm, example)
        return _change(con, source)


def _refuse(con: duckdb.DuckDBPyConnection, condition: str, harm: str, example: str) -> None:
    sql = f"SELECT {example}, corpus, count(*) OVER () FROM reviewed WHERE {condition} ORDER BY row LIMIT 5"
    rows = con.execute(sql).fetchall()
    if rows:
        shown = "; ".join(str(row[0]) for row in rows)
        told = harm.format(corpus=repr(rows[0][1]))
        raise WarehouseError(f"{rows[0][2]} rows {told} ({shown}); nothing was imported")


def _change(con: duckdb.DuckDBPyConnection, source: str) -> Reviewed:
    con.execute(
        "CREATE OR REPLACE TEMP TABLE changes AS "
        "SELECT DISTINCT r.corpus, r.query_key, r.passage_key, r.grade, l.grade AS before FROM reviewed AS r "
        "LEFT JOIN labels AS l ON l.corpus = r.corpus AND l.query_key = r.query_key "
        "AND l.passage_key = r.passage_key AND l.source = ? AND l.until IS NULL",
        [source],
    )
    counts = only(
        con,
        "SELECT count(*) FILTER (before IS NULL AND grade IS NOT NULL), "
        "count(*) FILTER (before IS NOT NULL AND grade IS NOT NULL AND grade <> before), "
        "count(*) FILTER (before IS NOT NULL AND grade IS NULL), "
        "count(*) FILTER (grade IS NOT DISTINCT FROM before) FROM changes",
    )
    con.execute("DELETE FROM changes WHERE grade IS NOT DISTINCT FROM before")
    con.execute(
        "UPDATE labels AS l SET until = now() FROM changes AS c WHERE l.source = ? AND l.until IS NULL "
        "AND l.corpus = c.corpus AND l.query_key = c.query_key AND l.passage_key = c.passage_key",
        [source],
    )
    con.execute(
        "INSERT INTO labels (corpus, query_key, passage_key, grade, split, source, since) "
        "SELECT corpus, query_key, passage_key, grade, 'train', ?, now() FROM changes WHERE grade IS NOT NULL "
        "ORDER BY query_key, passage_key",
        [source],
    )
    return Reviewed(*counts)


def reviewed_labels(wh: Warehouse, corpus: str) -> pl.DataFrame:
    """Labels that people gave in review and that hold now, the highest grade of a pair, sorted by pair.

    Columns: query_hash, passage_hash, grade.
    """
    sql = (
        "SELECT q.text_hash AS query_hash, p.text_hash AS passage_hash, r.grade FROM review_labels AS r "
        "JOIN queries AS q ON q.query_key = r.query_key JOIN passages AS p ON p.passage_key = r.passage_key "
        "WHERE r.corpus = $corpus ORDER BY ALL"
    )
    with wh.read() as con:
        frame: pl.DataFrame = con.sql(sql, params={"corpus": corpus}).pl()
    return frame


def agreement(wh: Warehouse, run: int) -> pl.DataFrame:
    """How far the teacher agrees with people, round by round; see the view `agreement`."""
    with wh.read() as con:
        frame: pl.DataFrame = con.sql("FROM agreement WHERE run = $run ORDER BY round", params={"run": run}).pl()
    return frame
