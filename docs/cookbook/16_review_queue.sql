-- Which pairs should a person look at first?
-- Where the teacher is closest to undecided. Policies with two limits (drop, margin) leave pairs between them; the
-- sample's policy has one limit.
SELECT left(query, 50) AS query, left(passage, 60) AS passage, rank, round(probability, 3) AS probability
FROM ambiguous
WHERE run = (SELECT max(run) FROM ambiguous)
ORDER BY abs(ambiguous.probability - 0.5), query_id, passage_id
LIMIT 10;
