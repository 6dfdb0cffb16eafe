-- Where did the time go?
SELECT round, step, round(seconds, 1) AS seconds, round(100 * seconds / sum(seconds) OVER (), 1) AS percent
FROM steps
WHERE made AND run = (SELECT max(run) FROM steps WHERE made)
ORDER BY steps.seconds DESC, round, step
LIMIT 10;
