-- Which labelled positives does the teacher doubt?
-- Lowest first. Read some: a teacher that doubts good labels should not judge; a label that is wrong should go.
-- The probability is the one that denoising went by: with a blend, the student's similarity has a share in it.
SELECT query_id, left(query, 50) AS query, passage_id, left(passage, 60) AS passage, label,
    round(logit, 2) AS logit, round(probability, 3) AS probability
FROM scored_positives
WHERE run = (SELECT max(run) FROM scored_positives) AND round = 1 AND logit IS NOT NULL
ORDER BY scored_positives.logit, query_id, passage_id
LIMIT 10;
