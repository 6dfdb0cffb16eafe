-- Where do two teachers disagree?
-- By calibrated probability: raw logits of two teachers have no common scale.
WITH judged AS (
    SELECT s.teacher_id, s.query_key, s.passage_key, 1 / (1 + exp(-(m.a * s.logit + m.b))) AS probability
    FROM teacher_scores AS s
    JOIN models AS m ON m.model_id = s.teacher_id
    WHERE m.a IS NOT NULL
),
pairs AS (
    SELECT one.query_key, one.passage_key, one.teacher_id AS first_id, other.teacher_id AS second_id,
        one.probability AS first, other.probability AS second
    FROM judged AS one
    JOIN judged AS other USING (query_key, passage_key)
    WHERE one.teacher_id < other.teacher_id
    ORDER BY abs(one.probability - other.probability) DESC, one.query_key, one.passage_key
    LIMIT 10
)
SELECT left(q.text, 50) AS query, left(p.text, 60) AS passage, left(a.fingerprint, 8) AS first_teacher,
    round(first, 3) AS first, left(b.fingerprint, 8) AS second_teacher, round(second, 3) AS second
FROM pairs
JOIN queries AS q USING (query_key)
JOIN passages AS p USING (passage_key)
JOIN models AS a ON a.model_id = first_id
JOIN models AS b ON b.model_id = second_id
ORDER BY abs(pairs.first - pairs.second) DESC, query, passage;
