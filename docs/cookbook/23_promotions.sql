-- Why was a student promoted, or not?
SELECT s.round, round(d.value, 4) AS difference, d.note
FROM diagnostics AS d
JOIN artifacts AS a USING (artifact_id)
JOIN steps AS s ON s.artifact = a.fingerprint AND s.step = 'promote'
WHERE s.run = (SELECT max(run) FROM coverage) AND ends_with(d.name, ' difference')
ORDER BY s.round, d.note;
