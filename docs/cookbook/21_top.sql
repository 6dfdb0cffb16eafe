-- What does the teacher rank first, of everything that it has scored?
-- Here the newest teacher, by its fingerprint: two teachers may have the same name.
SELECT query_id, rank, passage_id, round(logit, 2) AS logit, round(probability, 3) AS probability
FROM top_k((SELECT arg_max(fingerprint, model_id) FROM models WHERE role = 'teacher'), 3)
ORDER BY query_id, rank, passage_id
LIMIT 9;
