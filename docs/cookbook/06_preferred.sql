-- Which unlabelled passages does it prefer to them?
SELECT left(query, 40) AS query, left(passage, 50) AS labelled, round(logit, 2) AS logit,
    left(best_passage, 50) AS preferred, round(best_logit, 2) AS preferred_logit, better
FROM weak_positives
WHERE run = (SELECT max(run) FROM weak_positives) AND round = 1
ORDER BY best_logit - weak_positives.logit DESC, query_id, passage_id
LIMIT 10;
