-- Which queries got worse with the student, and what comes first instead?
-- Base against the last round. before and after are nDCG@10 of the query; a wrong label shows here as well.
WITH newest AS (
    SELECT run, arg_max(system, split_part(system, '-', 2)::INTEGER) AS student
    FROM leaderboard
    WHERE run = (SELECT max(run) FROM leaderboard) AND system SIMILAR TO 'round-[0-9]+'
    GROUP BY run
)
SELECT old.query_id, left(old.query, 60) AS query, round(old.value, 2) AS before, round(new.value, 2) AS after,
    was.passage_id AS first_before, first.passage_id AS first_now, left(first.passage, 60) AS passage_now
FROM newest AS n
JOIN query_results AS old ON old.run = n.run AND old.system = 'base' AND old.measure = 'nDCG@10'
JOIN query_results AS new
    ON new.run = n.run AND new.system = n.student AND new.measure = old.measure AND new.query_id = old.query_id
JOIN ranked_passages AS was ON was.run = n.run AND was.system = 'base' AND was.query_id = old.query_id AND was.rank = 1
JOIN ranked_passages AS first
    ON first.run = n.run AND first.system = n.student AND first.query_id = old.query_id AND first.rank = 1
WHERE old.split = 'test' AND new.value < old.value
ORDER BY new.value - old.value, old.query_id
LIMIT 10;
