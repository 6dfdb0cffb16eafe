-- What people said in review, and how far the teacher agrees.

CREATE OR REPLACE VIEW review_labels AS
SELECT corpus, query_key, passage_key, max(grade) AS grade, count(*) AS reviewers
FROM labels
WHERE until IS NULL AND split_part(source, ':', 1) = 'review'
GROUP BY corpus, query_key, passage_key;

COMMENT ON VIEW review_labels IS 'Labels given in review that hold now, one row per corpus and pair: the highest grade where reviewers differ. Training alone uses them.';
COMMENT ON COLUMN review_labels.corpus IS 'Name of the corpus.';
COMMENT ON COLUMN review_labels.query_key IS 'Key in queries.';
COMMENT ON COLUMN review_labels.passage_key IS 'Key in passages.';
COMMENT ON COLUMN review_labels.grade IS 'Above 0: relevant, more is better; 0: not relevant.';
COMMENT ON COLUMN review_labels.reviewers IS 'How many sources labelled the pair.';

CREATE OR REPLACE VIEW agreement AS
WITH limits AS (
    SELECT artifact_id, CAST(json_extract_string(settings, '$.denoising.approve') AS DOUBLE) AS approve
    FROM artifacts
    WHERE step = 'denoise'
),
seen AS (
    SELECT c.run, c.round, c.teacher_id, r.grade > 0 AS relevant, c.probability >= coalesce(l.approve, 0.5) AS approved
    FROM round_parts AS p
    JOIN candidate_facts AS c ON c.run = p.run AND c.round = p.round AND c.teacher_id = p.teacher_id
    JOIN review_labels AS r
        ON r.corpus = c.corpus AND r.query_key = c.query_key AND r.passage_key = c.passage_key
    LEFT JOIN limits AS l ON l.artifact_id = p.judged
    WHERE c.probability IS NOT NULL
)
SELECT s.run AS run, s.round AS round, m.name AS teacher, count(*) AS reviewed,
    count(*) FILTER (s.relevant) AS relevant, count(*) FILTER (s.approved) AS approved,
    count(*) FILTER (s.approved = s.relevant) AS agree, count(*) FILTER (s.approved = s.relevant) / count(*) AS agreement,
    count(*) FILTER (s.approved AND s.relevant) / nullif(count(*) FILTER (s.approved), 0) AS approved_precision,
    count(*) FILTER (NOT s.approved AND s.relevant) / nullif(count(*) FILTER (NOT s.approved), 0) AS missed_share
FROM seen AS s
LEFT JOIN models AS m ON m.model_id = s.teacher_id
GROUP BY s.run, s.round, s.teacher_id, m.name;

COMMENT ON VIEW agreement IS 'The teacher against people, on the candidates of each round that somebody reviewed. The queue holds the doubtful ones, so this is lower than on all candidates.';
COMMENT ON COLUMN agreement.run IS 'Key in runs.';
COMMENT ON COLUMN agreement.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN agreement.teacher IS 'Name of the teacher.';
COMMENT ON COLUMN agreement.reviewed IS 'Candidates with a label from review and a probability.';
COMMENT ON COLUMN agreement.relevant IS 'Of these, relevant according to people.';
COMMENT ON COLUMN agreement.approved IS 'Of these, approved by the teacher: its probability reaches the threshold of denoising.';
COMMENT ON COLUMN agreement.agree IS 'Candidates of which both say the same.';
COMMENT ON COLUMN agreement.agreement IS 'agree / reviewed.';
COMMENT ON COLUMN agreement.approved_precision IS 'Share of the approved that people call relevant; NULL where none was approved.';
COMMENT ON COLUMN agreement.missed_share IS 'Share of the others that people call relevant; NULL where all were approved.';
