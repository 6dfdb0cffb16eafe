-- What does the teacher rank first, of everything that it has scored?
SELECT query_id, rank, passage_id, round(logit, 2) AS logit, round(probability, 3) AS probability
FROM top_k((SELECT max(name) FROM models WHERE role = 'teacher'), 3)
ORDER BY query_id, rank, passage_id
LIMIT 9;
