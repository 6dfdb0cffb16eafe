-- How does every system stand, beside chance?
SELECT system, round(value, 3) AS "nDCG@10", round(chance, 3) AS chance, queries
FROM leaderboard
WHERE run = (SELECT max(run) FROM leaderboard) AND split = 'test' AND measure = 'nDCG@10'
ORDER BY value DESC, system;
