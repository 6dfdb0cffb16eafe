-- What did it cost?
SELECT run, round, pairs, scored, reused, tokens, round(scoring_seconds, 1) AS scoring_seconds,
    round(seconds, 1) AS seconds
FROM cost
ORDER BY run, round;
