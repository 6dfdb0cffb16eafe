-- Which queries have too few negatives?
-- Fewer than three: everything else that was mined is approved, ambiguous or unscored.
SELECT query_id, left(any_value(query), 60) AS query, count(*) AS candidates,
    count(*) FILTER (verdict = 'negative') AS negatives,
    count(*) FILTER (verdict IN ('approved', 'promoted')) AS false_negatives,
    count(*) FILTER (verdict = 'ambiguous') AS ambiguous
FROM scored_candidates
WHERE run = (SELECT max(run) FROM coverage) AND round = 1
GROUP BY query_id
HAVING negatives < 3
ORDER BY negatives, query_id
LIMIT 10;
