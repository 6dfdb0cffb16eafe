-- What does the teacher like much better than the student does?
SELECT left(query, 50) AS query, left(passage, 60) AS passage, student_rank, teacher_rank, scored,
    round(logit, 2) AS logit, verdict
FROM disagreements
WHERE run = (SELECT max(run) FROM disagreements) AND round = 1 AND gap > 0
ORDER BY gap DESC, disagreements.logit DESC, query_id, passage_id
LIMIT 10;
