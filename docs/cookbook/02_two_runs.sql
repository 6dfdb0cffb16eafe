-- How do two runs compare?
-- Here the two newest; a system that one of them does not have is NULL there.
PIVOT (
    SELECT system, split, measure, round(value, 3) AS value,
        CASE dense_rank() OVER (ORDER BY run DESC) WHEN 1 THEN 'newest' WHEN 2 THEN 'before' END AS age
    FROM leaderboard
    WHERE measure = 'nDCG@10'
)
ON age IN ('before', 'newest')
USING max(value)
GROUP BY system, split
ORDER BY split, system;
