-- Does the teacher tell positives from candidates at all?
-- Two hills far apart are good; one hill means that its scores say little here.
SELECT logit_from, logit_to, candidates, approved, positives
FROM score_histogram
WHERE run = (SELECT max(run) FROM score_histogram) AND round = 1
ORDER BY logit_from;
