"""What the report of a run is written from."""

from typing import Any

import polars as pl

from warehouse.connect import Warehouse

RUN = """
SELECT run_id, flow, recipe, corpus, settings::VARCHAR AS settings, facts::VARCHAR AS facts, status, error, started_at
FROM runs
WHERE run_id = $run
"""

BOARD = """
SELECT system, split, measure, value, chance, queries
FROM leaderboard
WHERE run = $run
ORDER BY system, split, measure
"""

VALUES = """
SELECT DISTINCT m.system, m.split, q.text_hash AS query_hash, m.measure, m.value
FROM rounds AS r
JOIN query_metrics AS m ON m.artifact_id = r.artifact_id
JOIN queries AS q ON q.query_key = m.query_key
WHERE r.run_id = $run AND m.measure = $measure
ORDER BY m.system, m.split, query_hash
"""

COURSE = """
SELECT r.round, r.step AS part, a.artifact_id, CAST(json_extract(a.settings, '$.steps') AS INTEGER) AS planned,
    h.step, h.loss, h.measure
FROM (SELECT DISTINCT round, step, artifact_id FROM rounds WHERE run_id = $run) AS r
JOIN artifacts AS a ON a.artifact_id = r.artifact_id
JOIN history AS h ON h.artifact_id = r.artifact_id
ORDER BY r.round, planned, a.artifact_id, h.step
"""

STEPS = """
SELECT s.round, s.step, s.made, s.seconds, a.seconds AS took, s.facts::VARCHAR AS facts,
    a.settings::VARCHAR AS settings, s.artifact
FROM steps AS s
JOIN artifacts AS a ON a.fingerprint = s.artifact
WHERE s.run = $run
ORDER BY s.round, a.made_at, a.artifact_id
"""

COST = "SELECT round, pairs, scored, reused, tokens, truncated, seconds FROM cost WHERE run = $run ORDER BY round"

NOTED = """
SELECT json_extract_string(a.settings, '$.system') AS system, d.name, d.value, d.note
FROM (SELECT artifact_id, min(round) AS round FROM rounds WHERE run_id = $run AND step = 'diagnose' GROUP BY ALL) AS r
JOIN artifacts AS a ON a.artifact_id = r.artifact_id
JOIN diagnostics AS d ON d.artifact_id = r.artifact_id
ORDER BY r.round, r.artifact_id, d.rowid
"""

# Log-odds of the calibrated probability, in steps of one half from -8 to 8; without one, the judgement itself.
SPREAD = """
WITH judged AS (
    SELECT DISTINCT run, round, judged FROM round_parts WHERE run = $run AND judged IS NOT NULL
),
placed AS (
    SELECT j.round, v.verdict, v.probability IS NOT NULL AS calibrated,
        greatest(v.probability, 1e-6::DOUBLE) / greatest(1 - v.probability, 1e-6::DOUBLE) AS odds, v.judgement
    FROM judged AS j
    JOIN verdicts AS v ON v.artifact_id = j.judged
    WHERE v.judgement IS NOT NULL OR v.probability IS NOT NULL
)
SELECT round, floor(2 * greatest(-8, least(7.99, if(calibrated, ln(odds), judgement)))) / 2 AS start,
    bool_and(calibrated) AS calibrated,
    count(*) FILTER (verdict = 'positive') AS positives,
    count(*) FILTER (verdict IN ('approved', 'promoted')) AS approved,
    count(*) FILTER (verdict IN ('negative', 'ambiguous')) AS kept
FROM placed
GROUP BY round, start
ORDER BY round, start
"""

TO_READ = """
WITH told AS (
    SELECT max(round) AS round FROM round_parts WHERE run = $run AND judged IS NOT NULL
),
surest AS (
    SELECT f.round, f.query_key, f.passage_key, f.rank, f.probability, f.logit, f.reason
    FROM candidate_facts AS f
    JOIN told AS t ON t.round = f.round
    WHERE f.run = $run AND f.verdict IN ('approved', 'promoted')
    QUALIFY 1 = row_number() OVER (
        PARTITION BY f.query_key ORDER BY f.probability DESC NULLS LAST, f.logit DESC, f.rank
    )
    ORDER BY f.probability DESC NULLS LAST, f.logit DESC, f.query_key
    LIMIT $most
),
known AS (
    SELECT query_key, list(text ORDER BY passage_key) AS labelled
    FROM (
        SELECT DISTINCT f.query_key, f.passage_key, p.text
        FROM positive_facts AS f
        JOIN surest AS s ON s.query_key = f.query_key AND s.round = f.round
        JOIN passages AS p ON p.passage_key = f.passage_key
        WHERE f.run = $run
    )
    GROUP BY query_key
)
SELECT s.round, q.text AS query, p.text AS passage, k.labelled, s.rank, s.probability, s.logit, s.reason
FROM surest AS s
JOIN queries AS q ON q.query_key = s.query_key
JOIN passages AS p ON p.passage_key = s.passage_key
LEFT JOIN known AS k ON k.query_key = s.query_key
ORDER BY s.probability DESC NULLS LAST, s.logit DESC, s.query_key
"""

CHANGED = """
WITH measured AS (
    SELECT DISTINCT m.system, m.query_key, m.value, m.artifact_id
    FROM rounds AS r
    JOIN query_metrics AS m ON m.artifact_id = r.artifact_id
    WHERE r.run_id = $run AND m.split = $split AND m.measure = $measure AND m.system IN ($before, $after)
),
paired AS (
    SELECT b.query_key, b.value AS before, a.value AS after, b.artifact_id AS old, a.artifact_id AS new
    FROM measured AS b
    JOIN measured AS a ON a.query_key = b.query_key AND a.system = $after
    WHERE b.system = $before
),
chosen AS (
    (SELECT 'won' AS outcome, * FROM paired WHERE after > before ORDER BY after - before DESC, query_key LIMIT $most)
    UNION ALL
    (SELECT 'lost' AS outcome, * FROM paired WHERE after < before ORDER BY after - before, query_key LIMIT $most)
),
known AS (
    SELECT l.query_key, l.passage_key, l.grade
    FROM current_labels AS l
    WHERE l.corpus = (SELECT corpus FROM runs WHERE run_id = $run)
),
wanted AS (
    SELECT k.query_key, list(p.text ORDER BY k.grade DESC, k.passage_key) AS labelled
    FROM known AS k
    JOIN passages AS p ON p.passage_key = k.passage_key
    WHERE k.grade > 0 AND k.query_key IN (SELECT query_key FROM chosen)
    GROUP BY k.query_key
)
SELECT c.outcome, q.text AS query, c.before, c.after, po.text AS first_before, pn.text AS first_after,
    coalesce(ko.grade, 0) > 0 AS right_before, coalesce(kn.grade, 0) > 0 AS right_after, w.labelled
FROM chosen AS c
JOIN queries AS q ON q.query_key = c.query_key
LEFT JOIN rankings AS o ON o.artifact_id = c.old AND o.query_key = c.query_key AND o.rank = 1
LEFT JOIN rankings AS n ON n.artifact_id = c.new AND n.query_key = c.query_key AND n.rank = 1
LEFT JOIN passages AS po ON po.passage_key = o.passage_key
LEFT JOIN passages AS pn ON pn.passage_key = n.passage_key
LEFT JOIN known AS ko ON ko.query_key = c.query_key AND ko.passage_key = o.passage_key
LEFT JOIN known AS kn ON kn.query_key = c.query_key AND kn.passage_key = n.passage_key
LEFT JOIN wanted AS w ON w.query_key = c.query_key
ORDER BY c.outcome DESC, abs(c.after - c.before) DESC, c.query_key
"""


def run_row(wh: Warehouse, run: int) -> dict[str, Any]:
    """One row of `runs`; settings and facts as JSON text.

    Raises:
        LookupError: There is no such run.
    """
    found = _frame(wh, RUN, {"run": run})
    if found.is_empty():
        raise LookupError(f"{wh.path}: there is no run {run}; `remine runs` lists the ones there are")
    return found.row(0, named=True)


def board(wh: Warehouse, run: int) -> pl.DataFrame:
    """Every system: system, split, measure, value, chance, queries."""
    return _frame(wh, BOARD, {"run": run})


def values(wh: Warehouse, run: int, measure: str) -> pl.DataFrame:
    """One measure of every system on every query: system, split, query_hash, measure, value."""
    return _frame(wh, VALUES, {"run": run, "measure": measure})


def course(wh: Warehouse, run: int) -> pl.DataFrame:
    """Trainings as they went: round, part (warmup or train), artifact_id, planned steps, step, loss, measure."""
    return _frame(wh, COURSE, {"run": run})


def steps(wh: Warehouse, run: int) -> pl.DataFrame:
    """Artifacts as the run used them: round, step, made, seconds (in this run), took (to make), facts, settings."""
    return _frame(wh, STEPS, {"run": run})


def cost(wh: Warehouse, run: int) -> pl.DataFrame:
    """What each round cost: round, pairs, scored, reused, tokens, truncated, seconds."""
    return _frame(wh, COST, {"run": run})


def noted(wh: Warehouse, run: int) -> pl.DataFrame:
    """Diagnosis of students, in the order they were made and figures were written: system, name, value, note."""
    return _frame(wh, NOTED, {"run": run})


def spread(wh: Warehouse, run: int) -> pl.DataFrame:
    """Judgements in steps of one half: round, start (log-odds), calibrated, positives, approved, kept."""
    return _frame(wh, SPREAD, {"run": run})


def to_read(wh: Warehouse, run: int, most: int) -> pl.DataFrame:
    """Surest false negatives of the last round, one per query, with the texts of the query's labelled positives."""
    return _frame(wh, TO_READ, {"run": run, "most": most})


def changed(wh: Warehouse, run: int, systems: tuple[str, str], told: tuple[str, str], most: int) -> pl.DataFrame:
    """Queries that a system won and lost most against another one, with what came first by each.

    Args:
        wh: The warehouse.
        run: The run.
        systems: The system before and the one after.
        told: Split and measure.
        most: Queries of each kind.
    """
    named = {"before": systems[0], "after": systems[1], "split": told[0], "measure": told[1]}
    return _frame(wh, CHANGED, {"run": run, "most": most, **named})


def query_texts(wh: Warehouse, hashes: list[int]) -> pl.DataFrame:
    """Texts of queries: query_hash, query."""
    sql = "SELECT text_hash AS query_hash, text AS query FROM queries WHERE list_contains($hashes, text_hash)"
    return _frame(wh, sql, {"hashes": hashes})


def _frame(wh: Warehouse, sql: str, values: dict[str, Any]) -> pl.DataFrame:
    with wh.read() as con:
        frame: pl.DataFrame = con.sql(sql, params=values).pl()
    return frame
