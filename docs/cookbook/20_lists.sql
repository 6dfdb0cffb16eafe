-- What does training see of a query?
SELECT left(query, 40) AS query, passage_ids[:4] AS passage_ids,
    list_transform(logits[:4], lambda x: round(x::DOUBLE, 2)) AS logits, verdicts[:4] AS verdicts
FROM training_lists
WHERE run = (SELECT max(run) FROM training_lists) AND round = 1
ORDER BY query_id
LIMIT 3;
