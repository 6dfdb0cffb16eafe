-- What did denoising decide, and on what grounds?
SELECT round, verdict, count(*) AS pairs, round(min(probability), 3) AS lowest, round(max(probability), 3) AS highest,
    min(reason) AS for_example
FROM candidate_facts
WHERE run = (SELECT max(run) FROM coverage)
GROUP BY round, verdict
ORDER BY round, pairs DESC, verdict;
