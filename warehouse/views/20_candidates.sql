-- What denoising decided, with ids and texts. A corpus is compared by BETWEEN wherever ids of passages are joined: joined by
-- one integer, the scan of the ids leaves out what is not asked for; by an integer and a text it reads them all.

CREATE OR REPLACE VIEW scored_candidates AS
SELECT f.run AS run, f.round AS round, f.query_id AS query_id, q.text AS query, pi.external_id AS passage_id,
    p.text AS passage, f.rank AS rank, f.student_score AS student_score, f.logit AS logit,
    f.probability AS probability, f.label AS label, f.verdict AS verdict, f.reason AS reason, f.weight AS weight,
    f.judgement AS judgement, m.name AS teacher, f.miner AS miner, f.split AS split, pi.title AS title,
    f.n_tokens AS n_tokens, f.truncated AS truncated
FROM candidate_facts AS f
JOIN queries AS q ON q.query_key = f.query_key
JOIN passages AS p ON p.passage_key = f.passage_key
LEFT JOIN models AS m ON m.model_id = f.teacher_id
LEFT JOIN passage_ids AS pi ON pi.passage_key = f.passage_key AND pi.corpus BETWEEN f.corpus AND f.corpus AND pi.shown;

COMMENT ON VIEW scored_candidates IS 'Every candidate of every round with ids and texts: what the student found, the teacher''s score, the label and the verdict.';
COMMENT ON COLUMN scored_candidates.run IS 'Key in runs.';
COMMENT ON COLUMN scored_candidates.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN scored_candidates.query_id IS 'Id of the query in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN scored_candidates.query IS 'Text of the query.';
COMMENT ON COLUMN scored_candidates.passage_id IS 'Id of the passage in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN scored_candidates.passage IS 'Text of the passage, title first.';
COMMENT ON COLUMN scored_candidates.rank IS 'Rank in the retrieved list, from 1; the best one where several retrieved it.';
COMMENT ON COLUMN scored_candidates.student_score IS 'Similarity by the current student, whoever retrieved it.';
COMMENT ON COLUMN scored_candidates.logit IS 'The teacher''s raw logit; NULL where the pair is not scored.';
COMMENT ON COLUMN scored_candidates.probability IS 'Calibrated probability of relevance, 0 to 1: the verdict''s, else sigmoid(a * logit + b); NULL where neither is known.';
COMMENT ON COLUMN scored_candidates.label IS 'Grade given by people: above 0 relevant, 0 not relevant; NULL where nobody judged the pair.';
COMMENT ON COLUMN scored_candidates.verdict IS 'What denoising decided: positive, promoted, negative, approved, ambiguous or unscored; NULL before denoising.';
COMMENT ON COLUMN scored_candidates.reason IS 'Why it decided so; NULL before denoising.';
COMMENT ON COLUMN scored_candidates.weight IS 'Weight in training; NULL before denoising.';
COMMENT ON COLUMN scored_candidates.judgement IS 'Training target on the logit scale; NULL before denoising or where not scored.';
COMMENT ON COLUMN scored_candidates.teacher IS 'Name of the teacher; NULL before scoring.';
COMMENT ON COLUMN scored_candidates.miner IS 'Who retrieved it: names of systems, joined by + where several did.';
COMMENT ON COLUMN scored_candidates.split IS 'Split of the query; empty where it has no labels.';
COMMENT ON COLUMN scored_candidates.title IS 'Title of the passage; empty where it has none.';
COMMENT ON COLUMN scored_candidates.n_tokens IS 'Tokens that the teacher read; NULL where not scored.';
COMMENT ON COLUMN scored_candidates.truncated IS 'True where the teacher read a shortened passage; NULL where not scored.';

CREATE OR REPLACE VIEW scored_positives AS
SELECT f.run AS run, f.round AS round, f.query_id AS query_id, q.text AS query, pi.external_id AS passage_id,
    p.text AS passage, f.logit AS logit, f.probability AS probability, f.label AS label, f.weight AS weight,
    f.judgement AS judgement, m.name AS teacher, f.split AS split, pi.title AS title, f.n_tokens AS n_tokens,
    f.truncated AS truncated
FROM positive_facts AS f
JOIN queries AS q ON q.query_key = f.query_key
JOIN passages AS p ON p.passage_key = f.passage_key
LEFT JOIN models AS m ON m.model_id = f.teacher_id
LEFT JOIN passage_ids AS pi ON pi.passage_key = f.passage_key AND pi.corpus BETWEEN f.corpus AND f.corpus AND pi.shown;

COMMENT ON VIEW scored_positives IS 'Every labelled positive of every mined query with ids and texts: where the logit is low, the teacher doubts the label.';
COMMENT ON COLUMN scored_positives.run IS 'Key in runs.';
COMMENT ON COLUMN scored_positives.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN scored_positives.query_id IS 'Id of the query in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN scored_positives.query IS 'Text of the query.';
COMMENT ON COLUMN scored_positives.passage_id IS 'Id of the passage in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN scored_positives.passage IS 'Text of the passage, title first.';
COMMENT ON COLUMN scored_positives.logit IS 'The teacher''s raw logit; NULL where the pair is not scored.';
COMMENT ON COLUMN scored_positives.probability IS 'Calibrated probability of relevance, 0 to 1: the verdict''s, else sigmoid(a * logit + b); NULL where neither is known.';
COMMENT ON COLUMN scored_positives.label IS 'Grade as it holds now; NULL where the label was withdrawn since.';
COMMENT ON COLUMN scored_positives.weight IS 'Weight in training; NULL before denoising.';
COMMENT ON COLUMN scored_positives.judgement IS 'Training target on the logit scale; NULL before denoising or where not scored.';
COMMENT ON COLUMN scored_positives.teacher IS 'Name of the teacher; NULL before scoring.';
COMMENT ON COLUMN scored_positives.split IS 'Split of the query; empty where it has no labels.';
COMMENT ON COLUMN scored_positives.title IS 'Title of the passage; empty where it has none.';
COMMENT ON COLUMN scored_positives.n_tokens IS 'Tokens that the teacher read; NULL where not scored.';
COMMENT ON COLUMN scored_positives.truncated IS 'True where the teacher read a shortened passage; NULL where not scored.';

CREATE OR REPLACE VIEW false_negatives AS
SELECT run, round, query_id, query, passage_id, passage, rank, student_score, logit, probability, label, verdict,
    reason, teacher
FROM scored_candidates
WHERE verdict IN ('approved', 'promoted');

COMMENT ON VIEW false_negatives IS 'Candidates without a label that the teacher takes for relevant: approved, or promoted to positives.';
COMMENT ON COLUMN false_negatives.run IS 'Key in runs.';
COMMENT ON COLUMN false_negatives.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN false_negatives.query_id IS 'Id of the query in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN false_negatives.query IS 'Text of the query.';
COMMENT ON COLUMN false_negatives.passage_id IS 'Id of the passage in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN false_negatives.passage IS 'Text of the passage, title first.';
COMMENT ON COLUMN false_negatives.rank IS 'Rank in the retrieved list, from 1; the best one where several retrieved it.';
COMMENT ON COLUMN false_negatives.student_score IS 'Similarity by the current student, whoever retrieved it.';
COMMENT ON COLUMN false_negatives.logit IS 'The teacher''s raw logit; NULL where the pair is not scored.';
COMMENT ON COLUMN false_negatives.probability IS 'Calibrated probability of relevance, 0 to 1: the verdict''s, else sigmoid(a * logit + b); NULL where neither is known.';
COMMENT ON COLUMN false_negatives.label IS 'Grade given by people: above 0 relevant, 0 not relevant; NULL where nobody judged the pair.';
COMMENT ON COLUMN false_negatives.verdict IS 'What denoising decided: positive, promoted, negative, approved, ambiguous or unscored; NULL before denoising.';
COMMENT ON COLUMN false_negatives.reason IS 'Why it decided so; NULL before denoising.';
COMMENT ON COLUMN false_negatives.teacher IS 'Name of the teacher; NULL before scoring.';

CREATE OR REPLACE VIEW hard_negatives AS
SELECT run, round, query_id, query, passage_id, passage, rank, student_score, logit, probability, label, verdict,
    reason, teacher
FROM scored_candidates
WHERE verdict = 'negative';

COMMENT ON VIEW hard_negatives IS 'Candidates that the student ranks high and the teacher takes for not relevant.';
COMMENT ON COLUMN hard_negatives.run IS 'Key in runs.';
COMMENT ON COLUMN hard_negatives.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN hard_negatives.query_id IS 'Id of the query in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN hard_negatives.query IS 'Text of the query.';
COMMENT ON COLUMN hard_negatives.passage_id IS 'Id of the passage in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN hard_negatives.passage IS 'Text of the passage, title first.';
COMMENT ON COLUMN hard_negatives.rank IS 'Rank in the retrieved list, from 1; the best one where several retrieved it.';
COMMENT ON COLUMN hard_negatives.student_score IS 'Similarity by the current student, whoever retrieved it.';
COMMENT ON COLUMN hard_negatives.logit IS 'The teacher''s raw logit; NULL where the pair is not scored.';
COMMENT ON COLUMN hard_negatives.probability IS 'Calibrated probability of relevance, 0 to 1: the verdict''s, else sigmoid(a * logit + b); NULL where neither is known.';
COMMENT ON COLUMN hard_negatives.label IS 'Grade given by people: above 0 relevant, 0 not relevant; NULL where nobody judged the pair.';
COMMENT ON COLUMN hard_negatives.verdict IS 'What denoising decided: positive, promoted, negative, approved, ambiguous or unscored; NULL before denoising.';
COMMENT ON COLUMN hard_negatives.reason IS 'Why it decided so; NULL before denoising.';
COMMENT ON COLUMN hard_negatives.teacher IS 'Name of the teacher; NULL before scoring.';

CREATE OR REPLACE VIEW ambiguous AS
SELECT run, round, query_id, query, passage_id, passage, rank, student_score, logit, probability, label, verdict,
    reason, teacher
FROM scored_candidates
WHERE verdict = 'ambiguous';

COMMENT ON VIEW ambiguous IS 'The review queue: candidates that the teacher is not sure about.';
COMMENT ON COLUMN ambiguous.run IS 'Key in runs.';
COMMENT ON COLUMN ambiguous.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN ambiguous.query_id IS 'Id of the query in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN ambiguous.query IS 'Text of the query.';
COMMENT ON COLUMN ambiguous.passage_id IS 'Id of the passage in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN ambiguous.passage IS 'Text of the passage, title first.';
COMMENT ON COLUMN ambiguous.rank IS 'Rank in the retrieved list, from 1; the best one where several retrieved it.';
COMMENT ON COLUMN ambiguous.student_score IS 'Similarity by the current student, whoever retrieved it.';
COMMENT ON COLUMN ambiguous.logit IS 'The teacher''s raw logit; NULL where the pair is not scored.';
COMMENT ON COLUMN ambiguous.probability IS 'Calibrated probability of relevance, 0 to 1: the verdict''s, else sigmoid(a * logit + b); NULL where neither is known.';
COMMENT ON COLUMN ambiguous.label IS 'Grade given by people: above 0 relevant, 0 not relevant; NULL where nobody judged the pair.';
COMMENT ON COLUMN ambiguous.verdict IS 'What denoising decided: positive, promoted, negative, approved, ambiguous or unscored; NULL before denoising.';
COMMENT ON COLUMN ambiguous.reason IS 'Why it decided so; NULL before denoising.';
COMMENT ON COLUMN ambiguous.teacher IS 'Name of the teacher; NULL before scoring.';
