-- What would thresholds of 0.05, 0.1 and 0.2 drop?
-- dropped: candidates at or above the threshold. queries_emptied: queries that would have no negative left.
SELECT threshold, candidates, dropped, round(dropped_share, 3) AS share, queries_emptied, positives, positives_above
FROM threshold_sweep((SELECT max(run) FROM coverage), 1)
WHERE threshold IN (0.05, 0.1, 0.2);
