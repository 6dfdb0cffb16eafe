-- Checks that are all zero in a healthy warehouse.

CREATE OR REPLACE VIEW data_quality AS
SELECT 'duplicate_scores' AS name, count(*) AS problems,
    'Pairs that a teacher scored more than once.' AS meaning
FROM (
    SELECT 1 FROM teacher_scores GROUP BY teacher_id, query_key, passage_key HAVING count(*) > 1
) AS found
UNION ALL
SELECT 'duplicate_candidates' AS name, count(*) AS problems,
    'Pairs that are twice among the candidates of an artifact.' AS meaning
FROM (
    SELECT 1 FROM candidates GROUP BY artifact_id, query_key, passage_key HAVING count(*) > 1
) AS found
UNION ALL
SELECT 'duplicate_verdicts' AS name, count(*) AS problems,
    'Pairs that are judged twice in an artifact.' AS meaning
FROM (
    SELECT 1 FROM verdicts GROUP BY artifact_id, query_key, passage_key HAVING count(*) > 1
) AS found
UNION ALL
SELECT 'duplicate_rankings' AS name, count(*) AS problems,
    'Pairs, and ranks of a query, that are twice in an evaluated ranking.' AS meaning
FROM (
    SELECT 1 FROM rankings GROUP BY artifact_id, query_key, passage_key HAVING count(*) > 1
    UNION ALL
    SELECT 1 FROM rankings GROUP BY artifact_id, query_key, rank HAVING count(*) > 1
) AS found
UNION ALL
SELECT 'nonfinite_numbers' AS name, count(*) AS problems,
    'Scores that are NaN or infinite.' AS meaning
FROM (
    SELECT 1 FROM teacher_scores WHERE NOT isfinite(logit)
    UNION ALL
    SELECT 1 FROM candidates WHERE NOT isfinite(student_score)
    UNION ALL
    SELECT 1 FROM rankings WHERE NOT isfinite(score)
) AS found
UNION ALL
SELECT 'orphan_scores' AS name, count(*) AS problems,
    'Scores of a teacher, text or run that is not there.' AS meaning
FROM (
    SELECT 1
    FROM teacher_scores AS s
    LEFT JOIN models AS m ON m.model_id = s.teacher_id AND m.role = 'teacher'
    LEFT JOIN queries AS q ON q.query_key = s.query_key
    LEFT JOIN passages AS p ON p.passage_key = s.passage_key
    LEFT JOIN runs AS r ON r.run_id = s.run_id
    WHERE m.model_id IS NULL OR q.query_key IS NULL OR p.passage_key IS NULL OR r.run_id IS NULL
) AS found
UNION ALL
SELECT 'orphan_pairs' AS name, count(*) AS problems,
    'Candidates, verdicts and rankings of an artifact or text that is not there.' AS meaning
FROM (
    SELECT 1
    FROM (
        SELECT artifact_id, query_key, passage_key FROM candidates
        UNION ALL
        SELECT artifact_id, query_key, passage_key FROM verdicts
        UNION ALL
        SELECT artifact_id, query_key, passage_key FROM rankings
    ) AS f
    LEFT JOIN artifacts AS a ON a.artifact_id = f.artifact_id
    LEFT JOIN queries AS q ON q.query_key = f.query_key
    LEFT JOIN passages AS p ON p.passage_key = f.passage_key
    WHERE a.artifact_id IS NULL OR q.query_key IS NULL OR p.passage_key IS NULL
) AS found
UNION ALL
SELECT 'orphan_measures' AS name, count(*) AS problems,
    'Measures, diagnostics and training logs of an artifact or query that is not there.' AS meaning
FROM (
    SELECT 1
    FROM (
        SELECT artifact_id, NULL AS query_key FROM metrics
        UNION ALL
        SELECT artifact_id, query_key FROM query_metrics
        UNION ALL
        SELECT artifact_id, NULL FROM diagnostics
        UNION ALL
        SELECT artifact_id, NULL FROM history
    ) AS f
    LEFT JOIN artifacts AS a ON a.artifact_id = f.artifact_id
    LEFT JOIN queries AS q ON q.query_key = f.query_key
    WHERE a.artifact_id IS NULL OR (f.query_key IS NOT NULL AND q.query_key IS NULL)
) AS found
UNION ALL
SELECT 'orphan_ids' AS name, count(*) AS problems,
    'Ids and labels of a text that is not there.' AS meaning
FROM (
    SELECT 1 FROM passage_ids ANTI JOIN passages USING (passage_key)
    UNION ALL
    SELECT 1 FROM query_ids ANTI JOIN queries USING (query_key)
    UNION ALL
    SELECT 1 FROM labels ANTI JOIN queries USING (query_key)
    UNION ALL
    SELECT 1 FROM labels ANTI JOIN passages USING (passage_key)
) AS found
UNION ALL
SELECT 'orphan_rounds' AS name, count(*) AS problems,
    'Rounds of a run or artifact that is not there.' AS meaning
FROM (
    SELECT 1 FROM rounds ANTI JOIN runs USING (run_id)
    UNION ALL
    SELECT 1 FROM rounds ANTI JOIN artifacts USING (artifact_id)
) AS found
UNION ALL
SELECT 'ambiguous_ids' AS name, count(*) AS problems,
    'Ids that mean two texts at once in a corpus, and texts that views show under several ids.' AS meaning
FROM (
    SELECT 1 FROM passage_ids WHERE until IS NULL GROUP BY corpus, external_id HAVING count(*) > 1
    UNION ALL
    SELECT 1 FROM query_ids WHERE until IS NULL GROUP BY corpus, external_id HAVING count(*) > 1
    UNION ALL
    SELECT 1 FROM passage_ids GROUP BY corpus, passage_key HAVING count(*) FILTER (shown) <> 1
    UNION ALL
    SELECT 1 FROM query_ids GROUP BY corpus, query_key HAVING count(*) FILTER (shown) <> 1
) AS found
UNION ALL
SELECT 'score_ledger' AS name, count(*) AS problems,
    'Teachers whose scores are not as many as the ledger says.' AS meaning
FROM (
    SELECT 1
    FROM (SELECT teacher_id, count(*) AS n FROM teacher_scores GROUP BY teacher_id) AS t
    FULL JOIN (
        SELECT teacher_id, sum(n_new) AS n FROM shard_loads WHERE table_name = 'teacher_scores' GROUP BY teacher_id
    ) AS s ON s.teacher_id = t.teacher_id
    WHERE coalesce(t.n, 0) <> coalesce(s.n, 0)
) AS found
UNION ALL
SELECT 'fact_ledger' AS name, count(*) AS problems,
    'Tables whose rows of an artifact are not as many as the ledger says.' AS meaning
FROM (
    SELECT 1
    FROM (
        SELECT 'candidates' AS name, artifact_id, count(*) AS n FROM candidates GROUP BY artifact_id
        UNION ALL
        SELECT 'verdicts', artifact_id, count(*) FROM verdicts GROUP BY artifact_id
        UNION ALL
        SELECT 'metrics', artifact_id, count(*) FROM metrics GROUP BY artifact_id
        UNION ALL
        SELECT 'query_metrics', artifact_id, count(*) FROM query_metrics GROUP BY artifact_id
        UNION ALL
        SELECT 'diagnostics', artifact_id, count(*) FROM diagnostics GROUP BY artifact_id
        UNION ALL
        SELECT 'history', artifact_id, count(*) FROM history GROUP BY artifact_id
        UNION ALL
        SELECT 'rankings', artifact_id, count(*) FROM rankings GROUP BY artifact_id
    ) AS t
    FULL JOIN (
        SELECT table_name, artifact_id, sum(n_new) AS n
        FROM shard_loads
        WHERE artifact_id IS NOT NULL
        GROUP BY table_name, artifact_id
    ) AS s ON s.table_name = t.name AND s.artifact_id = t.artifact_id
    WHERE coalesce(t.n, 0) <> coalesce(s.n, 0)
) AS found
UNION ALL
SELECT 'known_positives_mined' AS name, count(*) AS problems,
    'Candidates that the corpus labelled relevant when they were mined.' AS meaning
FROM (
    SELECT 1
    FROM (SELECT DISTINCT corpus, mined, made_at FROM round_parts) AS r
    JOIN candidates AS c ON c.artifact_id = r.mined
    JOIN labels AS l
        ON l.corpus = r.corpus AND l.query_key = c.query_key AND l.passage_key = c.passage_key AND l.grade > 0
        AND l.split = 'train' AND split_part(l.source, ':', 1) <> 'review' AND l.since <= r.made_at AND (l.until IS NULL OR l.until > r.made_at)
) AS found
UNION ALL
SELECT 'candidates_without_verdict' AS name, count(*) AS problems,
    'Candidates of a denoised round that have no verdict.' AS meaning
FROM (
    SELECT 1
    FROM (SELECT DISTINCT mined, judged FROM round_parts WHERE judged IS NOT NULL) AS r
    JOIN candidates AS c ON c.artifact_id = r.mined
    LEFT JOIN verdicts AS v
        ON v.artifact_id = r.judged AND v.query_key = c.query_key AND v.passage_key = c.passage_key
    WHERE v.artifact_id IS NULL
) AS found
UNION ALL
SELECT 'measures_out_of_range' AS name, count(*) AS problems,
    'Measures below 0 or above 1.' AS meaning
FROM (
    SELECT 1 FROM metrics WHERE value NOT BETWEEN 0 AND 1
    UNION ALL
    SELECT 1 FROM query_metrics WHERE value NOT BETWEEN 0 AND 1
) AS found;

COMMENT ON VIEW data_quality IS 'Checks of the warehouse itself; problems is 0 everywhere when it is healthy.';
COMMENT ON COLUMN data_quality.name IS 'Name of the check.';
COMMENT ON COLUMN data_quality.problems IS 'How often it is violated; 0 when all is well.';
COMMENT ON COLUMN data_quality.meaning IS 'What is counted.';
