-- What is truncated?
-- Pairs whose passage was cut to fit the teacher, by teacher; the longest that was read is its limit.
SELECT m.name AS teacher, left(m.fingerprint, 8) AS fingerprint, count(*) AS pairs,
    count(*) FILTER (s.truncated) AS truncated, round(100 * avg(s.truncated::INTEGER), 2) AS percent,
    median(s.n_tokens)::INTEGER AS median_tokens, max(s.n_tokens) AS longest
FROM teacher_scores AS s
JOIN models AS m ON m.model_id = s.teacher_id
GROUP BY s.teacher_id, m.name, m.fingerprint
ORDER BY s.teacher_id;
