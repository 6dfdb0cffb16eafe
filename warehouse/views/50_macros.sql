-- Rankings and sweeps: integers first, ids last. A teacher or a round that is not there is an error: an empty answer would
-- say that it thinks nothing. top_k makes one integer of every score, because keeping the k highest of a query in one pass
-- takes a fraction of the time of ordering its rows: the logit's 32 bits, those of a negative one turned over (all but the
-- sign) so that they sort as the numbers do, then the passage's key, subtracted so that the smallest of equals comes
-- first. Adding 0 makes 0 of -0.

CREATE OR REPLACE MACRO top_k(teacher, k) AS TABLE
WITH known AS MATERIALIZED (
    SELECT n.model_id, n.name = teacher OR starts_with(n.fingerprint, teacher) AS meant,
        n.name || ' (' || left(n.fingerprint, 16) || ')' AS called
    FROM models AS n
    WHERE n.role = 'teacher'
),
counted AS MATERIALIZED (
    SELECT list(n.model_id) FILTER (n.meant) AS ids, string_agg(n.called, ', ' ORDER BY n.model_id) AS names
    FROM known AS n
),
meant AS MATERIALIZED (
    SELECT CASE
        WHEN c.ids IS NULL
            THEN error(
                'no teacher is called ' || coalesce(teacher, 'NULL') || '; there are: ' || coalesce(c.names, 'none yet')
            )
        ELSE c.ids
    END AS ids
    FROM counted AS c
),
scored AS (
    SELECT s.teacher_id, s.query_key, s.passage_key, CAST(CAST(s.logit + 0 AS BIT) AS INTEGER) AS bits
    FROM teacher_scores AS s
    WHERE s.teacher_id IN (SELECT unnest(t.ids) FROM meant AS t)
),
best AS MATERIALIZED (
    SELECT s.teacher_id, s.query_key,
        max(
            CASE WHEN s.bits < 0 THEN xor(s.bits, 2147483647) ELSE s.bits END::BIGINT * 4294967296 - s.passage_key, k
        ) AS codes
    FROM scored AS s
    GROUP BY s.teacher_id, s.query_key
),
listed AS (
    SELECT m.name, m.a, m.b, qi.corpus, qi.external_id, unnest(b.codes) AS code,
        generate_subscripts(b.codes, 1) AS rank
    FROM best AS b
    JOIN models AS m ON m.model_id = b.teacher_id
    JOIN query_ids AS qi ON qi.query_key = b.query_key AND qi.shown
),
parted AS (
    SELECT l.*, (-l.code & 4294967295)::INTEGER AS passage_key,
        ((l.code + (-l.code & 4294967295)) >> 32)::INTEGER AS sorted
    FROM listed AS l
),
ranked AS (
    SELECT p.*,
        CAST(CAST(CASE WHEN p.sorted < 0 THEN xor(p.sorted, 2147483647) ELSE p.sorted END AS BIT) AS FLOAT) AS logit
    FROM parted AS p
)
SELECT r.name AS teacher, r.corpus AS corpus, r.external_id AS query_id, r.rank AS rank,
    pi.external_id AS passage_id, r.logit AS logit, 1 / (1 + exp(-(r.a * r.logit + r.b))) AS probability
FROM ranked AS r
-- BETWEEN for the reason given in 20_candidates.sql.
JOIN passage_ids AS pi ON pi.passage_key = r.passage_key AND pi.corpus BETWEEN r.corpus AND r.corpus AND pi.shown;

COMMENT ON MACRO TABLE top_k IS 'The k passages with the highest logit of every query, for a teacher given by name or by the start of its fingerprint: top_k(''taught'', 10); one that is not there is an error that lists those that are. Ids are those of each corpus that has both texts; logit is raw, probability calibrated, 0 to 1, and NULL where the teacher has no calibration.';

CREATE OR REPLACE MACRO threshold_sweep(run, round) AS TABLE
WITH mined AS MATERIALIZED (
    SELECT count(*) FILTER (p.run = run AND p.round = round) AS found,
        string_agg(p.run || '.' || p.round, ', ' ORDER BY p.run, p.round) AS rounds
    FROM round_parts AS p
),
asked AS MATERIALIZED (
    SELECT CASE
        WHEN k.found = 0
            THEN error(
                'no run ' || coalesce(run, 'NULL') || ' has mined a round ' || coalesce(round, 'NULL')
                || '; there are (run.round): ' || coalesce(k.rounds, 'none yet')
            )
        ELSE [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99]
    END AS thresholds
    FROM mined AS k
),
limits AS MATERIALIZED (
    SELECT unnest(a.thresholds) AS threshold FROM asked AS a
),
found AS (
    SELECT c.query_key, c.probability
    FROM candidate_facts AS c
    WHERE c.run = run AND c.round = round AND c.probability IS NOT NULL
        AND c.verdict IS DISTINCT FROM 'positive'
),
known AS (
    SELECT p.probability
    FROM positive_facts AS p
    WHERE p.run = run AND p.round = round AND p.probability IS NOT NULL
),
dropped AS (
    SELECT l.threshold, count(*) AS candidates, count(*) FILTER (f.probability >= l.threshold) AS dropped,
        count(DISTINCT f.query_key) - count(DISTINCT f.query_key) FILTER (f.probability < l.threshold) AS emptied
    FROM limits AS l CROSS JOIN found AS f
    GROUP BY l.threshold
),
kept AS (
    SELECT l.threshold, count(*) AS positives, count(*) FILTER (k.probability >= l.threshold) AS above
    FROM limits AS l CROSS JOIN known AS k
    GROUP BY l.threshold
)
SELECT d.threshold::DOUBLE AS threshold, d.candidates AS candidates, d.dropped AS dropped,
    d.dropped / d.candidates AS dropped_share, d.emptied AS queries_emptied, coalesce(k.positives, 0) AS positives,
    coalesce(k.above, 0) AS positives_above
FROM dropped AS d
LEFT JOIN kept AS k ON k.threshold = d.threshold
ORDER BY threshold;

COMMENT ON MACRO TABLE threshold_sweep IS 'What dropping every candidate at or above a probability would do to a round: candidates dropped, queries left without any, and labelled positives at or above the same threshold. Thresholds are probabilities from 0.01 to 0.99, shares 0 to 1; pairs without a probability are not counted.';
