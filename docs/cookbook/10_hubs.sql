-- Which passages are mined for hundreds of queries?
-- A hub near everything is often boilerplate or an empty page; look at it before you train on it.
SELECT passage_id, left(any_value(passage), 60) AS passage, count(*) AS queries, round(avg(rank), 1) AS mean_rank,
    round(avg(probability), 3) AS mean_probability, count(*) FILTER (verdict IN ('approved', 'promoted')) AS approved
FROM scored_candidates
WHERE run = (SELECT max(run) FROM coverage) AND round = 1
GROUP BY passage_id
ORDER BY queries DESC, passage_id
LIMIT 10;
