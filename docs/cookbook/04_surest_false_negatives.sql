-- Which false negatives are surest?
-- Nobody labelled these pairs, and the teacher takes them for relevant: trained on as negatives, they teach wrong.
SELECT left(query, 50) AS query, passage_id, left(passage, 60) AS passage, rank, round(probability, 2) AS probability
FROM false_negatives
WHERE run = (SELECT max(run) FROM false_negatives) AND round = 1
ORDER BY probability DESC, query_id, passage_id
LIMIT 10;
