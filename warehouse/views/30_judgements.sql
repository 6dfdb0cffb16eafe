-- Where teacher, student and labels differ, and what training reads.

CREATE OR REPLACE VIEW disagreements AS
WITH ranked AS (
    SELECT run, round, corpus, teacher_id, query_key, passage_key, student_score, logit, probability, label, verdict,
        row_number() OVER (PARTITION BY run, round, teacher_id, query_key ORDER BY rank) AS student_rank,
        row_number() OVER (PARTITION BY run, round, teacher_id, query_key ORDER BY logit DESC, rank) AS teacher_rank,
        count(*) OVER (PARTITION BY run, round, teacher_id, query_key) AS scored
    FROM candidate_facts
    WHERE logit IS NOT NULL
),
far AS (
    SELECT * FROM ranked WHERE 2 * abs(student_rank - teacher_rank) >= scored AND scored > 1
)
SELECT f.run AS run, f.round AS round, qi.external_id AS query_id, q.text AS query, pi.external_id AS passage_id,
    p.text AS passage, f.student_rank AS student_rank, f.teacher_rank AS teacher_rank,
    f.student_rank - f.teacher_rank AS gap, f.scored AS scored, f.student_score AS student_score,
    f.logit AS logit, f.probability AS probability, f.label AS label, f.verdict AS verdict, m.name AS teacher
FROM far AS f
JOIN queries AS q ON q.query_key = f.query_key
JOIN passages AS p ON p.passage_key = f.passage_key
LEFT JOIN models AS m ON m.model_id = f.teacher_id
LEFT JOIN query_ids AS qi ON qi.corpus = f.corpus AND qi.query_key = f.query_key AND qi.shown
LEFT JOIN passage_ids AS pi ON pi.passage_key = f.passage_key AND pi.corpus BETWEEN f.corpus AND f.corpus AND pi.shown;

COMMENT ON VIEW disagreements IS 'Candidates whose ranks by student and teacher differ by at least half of the query''s scored candidates.';
COMMENT ON COLUMN disagreements.run IS 'Key in runs.';
COMMENT ON COLUMN disagreements.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN disagreements.query_id IS 'Id of the query in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN disagreements.query IS 'Text of the query.';
COMMENT ON COLUMN disagreements.passage_id IS 'Id of the passage in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN disagreements.passage IS 'Text of the passage, title first.';
COMMENT ON COLUMN disagreements.student_rank IS 'Rank by the student among the query''s scored candidates, from 1.';
COMMENT ON COLUMN disagreements.teacher_rank IS 'Rank by the teacher''s logit among the same, from 1.';
COMMENT ON COLUMN disagreements.gap IS 'student_rank - teacher_rank: above 0 where the teacher likes it better than the student does.';
COMMENT ON COLUMN disagreements.scored IS 'Scored candidates of the query.';
COMMENT ON COLUMN disagreements.student_score IS 'Similarity by the current student, whoever retrieved it.';
COMMENT ON COLUMN disagreements.logit IS 'The teacher''s raw logit; NULL where the pair is not scored.';
COMMENT ON COLUMN disagreements.probability IS 'Calibrated probability of relevance, 0 to 1: the verdict''s, else sigmoid(a * logit + b); NULL where neither is known.';
COMMENT ON COLUMN disagreements.label IS 'Grade given by people: above 0 relevant, 0 not relevant; NULL where nobody judged the pair.';
COMMENT ON COLUMN disagreements.verdict IS 'What denoising decided: positive, promoted, negative, approved, ambiguous or unscored; NULL before denoising.';
COMMENT ON COLUMN disagreements.teacher IS 'Name of the teacher; NULL before scoring.';

CREATE OR REPLACE VIEW weak_positives AS
WITH beaten AS (
    SELECT p.run, p.round, p.corpus, p.teacher_id, p.query_key, p.passage_key, p.logit, p.probability,
        count(*) AS better, arg_max(c.passage_key, c.logit) AS best_key, max(c.logit) AS best_logit,
        arg_max(c.verdict, c.logit) AS best_verdict
    FROM positive_facts AS p
    JOIN candidate_facts AS c
        ON c.run = p.run AND c.round = p.round AND c.teacher_id = p.teacher_id AND c.query_key = p.query_key
        AND c.logit > p.logit AND c.verdict IS DISTINCT FROM 'positive'
    GROUP BY ALL
)
SELECT f.run AS run, f.round AS round, qi.external_id AS query_id, q.text AS query, pi.external_id AS passage_id,
    p.text AS passage, f.logit AS logit, f.probability AS probability, f.better AS better,
    bi.external_id AS best_passage_id, b.text AS best_passage, f.best_logit AS best_logit,
    f.best_verdict AS best_verdict, m.name AS teacher
FROM beaten AS f
JOIN queries AS q ON q.query_key = f.query_key
JOIN passages AS p ON p.passage_key = f.passage_key
LEFT JOIN models AS m ON m.model_id = f.teacher_id
LEFT JOIN query_ids AS qi ON qi.corpus = f.corpus AND qi.query_key = f.query_key AND qi.shown
LEFT JOIN passage_ids AS pi ON pi.passage_key = f.passage_key AND pi.corpus BETWEEN f.corpus AND f.corpus AND pi.shown
JOIN passages AS b ON b.passage_key = f.best_key
LEFT JOIN passage_ids AS bi ON bi.passage_key = f.best_key AND bi.corpus BETWEEN f.corpus AND f.corpus AND bi.shown;

COMMENT ON VIEW weak_positives IS 'Labelled positives that the teacher ranks below at least one candidate of the same query.';
COMMENT ON COLUMN weak_positives.run IS 'Key in runs.';
COMMENT ON COLUMN weak_positives.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN weak_positives.query_id IS 'Id of the query in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN weak_positives.query IS 'Text of the query.';
COMMENT ON COLUMN weak_positives.passage_id IS 'Id of the passage in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN weak_positives.passage IS 'Text of the passage, title first.';
COMMENT ON COLUMN weak_positives.logit IS 'The teacher''s raw logit; NULL where the pair is not scored.';
COMMENT ON COLUMN weak_positives.probability IS 'Calibrated probability of relevance, 0 to 1: the verdict''s, else sigmoid(a * logit + b); NULL where neither is known.';
COMMENT ON COLUMN weak_positives.better IS 'Candidates of the query with a higher logit.';
COMMENT ON COLUMN weak_positives.best_passage_id IS 'Id of the candidate with the highest logit.';
COMMENT ON COLUMN weak_positives.best_passage IS 'Text of that candidate.';
COMMENT ON COLUMN weak_positives.best_logit IS 'Its logit.';
COMMENT ON COLUMN weak_positives.best_verdict IS 'Its verdict.';
COMMENT ON COLUMN weak_positives.teacher IS 'Name of the teacher; NULL before scoring.';

CREATE OR REPLACE VIEW training_lists AS
WITH listed AS (
    SELECT run, round, corpus, teacher_id, query_key, passage_key, 0 AS rank, logit, judgement, verdict, weight
    FROM positive_facts
    WHERE logit IS NOT NULL
    UNION ALL
    SELECT run, round, corpus, teacher_id, query_key, passage_key, rank, logit, judgement, verdict, weight
    FROM candidate_facts
    WHERE logit IS NOT NULL AND verdict IS DISTINCT FROM 'positive'
),
lists AS (
    SELECT f.run, f.round, f.corpus, f.teacher_id, f.query_key,
        list(pi.external_id ORDER BY f.rank, f.passage_key) AS passage_ids,
        list(f.logit ORDER BY f.rank, f.passage_key) AS logits,
        list(f.judgement ORDER BY f.rank, f.passage_key) AS targets,
        list(f.verdict ORDER BY f.rank, f.passage_key) AS verdicts,
        list(f.weight ORDER BY f.rank, f.passage_key) AS weights
    FROM listed AS f
    LEFT JOIN passage_ids AS pi ON pi.passage_key = f.passage_key AND pi.corpus BETWEEN f.corpus AND f.corpus AND pi.shown
    GROUP BY f.run, f.round, f.corpus, f.teacher_id, f.query_key
)
SELECT l.run AS run, l.round AS round, m.name AS teacher, qi.split AS split, qi.external_id AS query_id,
    q.text AS query, l.passage_ids AS passage_ids, l.logits AS logits, l.targets AS targets,
    l.verdicts AS verdicts, l.weights AS weights
FROM lists AS l
JOIN queries AS q ON q.query_key = l.query_key
LEFT JOIN models AS m ON m.model_id = l.teacher_id
LEFT JOIN query_ids AS qi ON qi.corpus = l.corpus AND qi.query_key = l.query_key AND qi.shown;

COMMENT ON VIEW training_lists IS 'Per query the scored positives and candidates of a round, positives first, then by the student''s rank; an unscored passage is in no list.';
COMMENT ON COLUMN training_lists.run IS 'Key in runs.';
COMMENT ON COLUMN training_lists.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN training_lists.teacher IS 'Name of the teacher; NULL before scoring.';
COMMENT ON COLUMN training_lists.split IS 'Split of the query; empty where it has no labels.';
COMMENT ON COLUMN training_lists.query_id IS 'Id of the query in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN training_lists.query IS 'Text of the query.';
COMMENT ON COLUMN training_lists.passage_ids IS 'Ids of the passages.';
COMMENT ON COLUMN training_lists.logits IS 'Their raw logits, in the same order.';
COMMENT ON COLUMN training_lists.targets IS 'Their training targets on the logit scale, in the same order; NULL before denoising.';
COMMENT ON COLUMN training_lists.verdicts IS 'Their verdicts, in the same order; NULL before denoising.';
COMMENT ON COLUMN training_lists.weights IS 'Their weights in training, in the same order; NULL before denoising.';
