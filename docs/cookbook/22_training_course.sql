-- Was training still getting better when it ended?
SELECT s.round, s.step AS part, h.step, round(h.loss, 3) AS loss, round(h.measure, 3) AS dev, round(h.seconds) AS seconds
FROM history AS h
JOIN artifacts AS a USING (artifact_id)
JOIN steps AS s ON s.artifact = a.fingerprint
WHERE s.run = (SELECT max(run) FROM coverage) AND h.measure IS NOT NULL
ORDER BY s.round, part, h.step;
