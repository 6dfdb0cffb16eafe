-- How much of each round has the teacher scored?
SELECT run, round, teacher, queries, candidates, scored, round(share, 3) AS share, judged, positives, positives_scored
FROM coverage
ORDER BY run, round;
