-- What did each round newly find?
-- new: candidates that no earlier round of the run had mined, and what denoising said of these.
WITH met AS (
    SELECT *, row_number() OVER (PARTITION BY run, query_key, passage_key ORDER BY round) = 1 AS new
    FROM candidate_facts
    WHERE run = (SELECT max(run) FROM candidate_facts)
)
SELECT round, count(*) AS candidates, count(*) FILTER (new) AS new,
    count(*) FILTER (new AND verdict = 'negative') AS new_negatives,
    count(*) FILTER (new AND verdict IN ('approved', 'promoted')) AS new_false_negatives,
    count(*) FILTER (new AND verdict = 'ambiguous') AS new_ambiguous
FROM met
GROUP BY round
ORDER BY round;
