-- Facts by integer keys. The views for people stand on these and join the texts last. Only the id of the query is joined
-- first: whoever asks about one query then reads that query's scores, not all of them.

CREATE OR REPLACE VIEW current_labels AS
SELECT corpus, query_key, passage_key, max(grade) AS grade,
    array_to_string(list_sort(list_distinct(list(source))), ',') AS sources
FROM labels
WHERE until IS NULL
GROUP BY corpus, query_key, passage_key;

COMMENT ON VIEW current_labels IS 'Labels that hold now, one row per corpus and pair: the highest grade where sources differ.';
COMMENT ON COLUMN current_labels.corpus IS 'Name of the corpus.';
COMMENT ON COLUMN current_labels.query_key IS 'Key in queries.';
COMMENT ON COLUMN current_labels.passage_key IS 'Key in passages.';
COMMENT ON COLUMN current_labels.grade IS 'Above 0: relevant; 0: judged not relevant.';
COMMENT ON COLUMN current_labels.sources IS 'Where it came from; several are joined by commas.';

CREATE OR REPLACE VIEW round_parts AS
WITH used AS (
    SELECT r.run_id, r.round, max(r.artifact_id) FILTER (r.step = 'mine') AS mined,
        max(r.artifact_id) FILTER (r.step = 'denoise') AS judged
    FROM rounds AS r
    WHERE r.round > 0
    GROUP BY r.run_id, r.round
),
teachers AS (
    SELECT DISTINCT r.run_id, r.round, m.model_id
    FROM rounds AS r
    JOIN artifacts AS a ON a.artifact_id = r.artifact_id
    JOIN models AS m ON m.role = 'teacher' AND m.fingerprint = json_extract_string(a.inputs, '$.teacher')
    WHERE r.step = 'score'
)
SELECT u.run_id AS run, u.round AS round, s.corpus AS corpus, u.mined AS mined, u.judged AS judged,
    t.model_id AS teacher_id, a.made_at AS made_at
FROM used AS u
JOIN runs AS s ON s.run_id = u.run_id
LEFT JOIN teachers AS t ON t.run_id = u.run_id AND t.round = u.round
LEFT JOIN artifacts AS a ON a.artifact_id = u.mined;

COMMENT ON VIEW round_parts IS 'Which artifacts and which teacher make up a round; one row per teacher.';
COMMENT ON COLUMN round_parts.run IS 'Key in runs.';
COMMENT ON COLUMN round_parts.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN round_parts.corpus IS 'Corpus of the run; NULL before it is ingested.';
COMMENT ON COLUMN round_parts.mined IS 'The mine artifact, key in artifacts; NULL before mining.';
COMMENT ON COLUMN round_parts.judged IS 'The denoise artifact, key in artifacts; NULL before denoising.';
COMMENT ON COLUMN round_parts.teacher_id IS 'The teacher, key in models; NULL before scoring.';
COMMENT ON COLUMN round_parts.made_at IS 'When the mine artifact was finished; NULL before mining.';

CREATE OR REPLACE VIEW candidate_facts AS
SELECT r.run AS run, r.round AS round, r.corpus AS corpus, r.teacher_id AS teacher_id,
    c.query_key AS query_key, c.passage_key AS passage_key, c.rank AS rank, c.student_score AS student_score,
    c.miner AS miner, s.logit AS logit,
    coalesce(v.probability, 1 / (1 + exp(-(m.a * s.logit + m.b)))) AS probability,
    s.n_tokens AS n_tokens, s.truncated AS truncated, l.grade AS label, v.verdict AS verdict, v.reason AS reason,
    v.weight AS weight, v.judgement AS judgement, qi.external_id AS query_id, qi.split AS split
FROM round_parts AS r
JOIN candidates AS c ON c.artifact_id = r.mined
LEFT JOIN query_ids AS qi ON qi.corpus = r.corpus AND qi.query_key = c.query_key AND qi.shown
LEFT JOIN models AS m ON m.model_id = r.teacher_id
LEFT JOIN teacher_scores AS s
    ON s.teacher_id = r.teacher_id AND s.query_key = c.query_key AND s.passage_key = c.passage_key
LEFT JOIN verdicts AS v
    ON v.artifact_id = r.judged AND v.query_key = c.query_key AND v.passage_key = c.passage_key
LEFT JOIN current_labels AS l
    ON l.corpus = r.corpus AND l.query_key = c.query_key AND l.passage_key = c.passage_key;

COMMENT ON VIEW candidate_facts IS 'Every candidate of every round with what the teacher and denoising say of it, by keys: for counting and ranking.';
COMMENT ON COLUMN candidate_facts.run IS 'Key in runs.';
COMMENT ON COLUMN candidate_facts.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN candidate_facts.corpus IS 'Corpus of the run.';
COMMENT ON COLUMN candidate_facts.teacher_id IS 'The teacher, key in models; NULL before scoring.';
COMMENT ON COLUMN candidate_facts.query_key IS 'Key in queries.';
COMMENT ON COLUMN candidate_facts.passage_key IS 'Key in passages.';
COMMENT ON COLUMN candidate_facts.rank IS 'Rank in the retrieved list, from 1; the best one where several retrieved it.';
COMMENT ON COLUMN candidate_facts.student_score IS 'Similarity by the current student, whoever retrieved it.';
COMMENT ON COLUMN candidate_facts.miner IS 'Who retrieved it: names of systems, joined by + where several did.';
COMMENT ON COLUMN candidate_facts.logit IS 'The teacher''s raw logit; NULL where the pair is not scored.';
COMMENT ON COLUMN candidate_facts.probability IS 'Calibrated probability of relevance, 0 to 1: the verdict''s, else sigmoid(a * logit + b); NULL where neither is known.';
COMMENT ON COLUMN candidate_facts.n_tokens IS 'Tokens that the teacher read; NULL where not scored.';
COMMENT ON COLUMN candidate_facts.truncated IS 'True where the teacher read a shortened passage; NULL where not scored.';
COMMENT ON COLUMN candidate_facts.label IS 'Grade given by people: above 0 relevant, 0 not relevant; NULL where nobody judged the pair.';
COMMENT ON COLUMN candidate_facts.verdict IS 'What denoising decided: positive, promoted, negative, approved, ambiguous or unscored; NULL before denoising.';
COMMENT ON COLUMN candidate_facts.reason IS 'Why it decided so; NULL before denoising.';
COMMENT ON COLUMN candidate_facts.weight IS 'Weight in training; NULL before denoising.';
COMMENT ON COLUMN candidate_facts.judgement IS 'Training target on the logit scale; NULL before denoising or where not scored.';
COMMENT ON COLUMN candidate_facts.query_id IS 'Id of the query in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN candidate_facts.split IS 'Split of the query; empty where it has no labels.';

CREATE OR REPLACE VIEW positive_facts AS
SELECT r.run AS run, r.round AS round, r.corpus AS corpus, r.teacher_id AS teacher_id,
    v.query_key AS query_key, v.passage_key AS passage_key, s.logit AS logit,
    coalesce(v.probability, 1 / (1 + exp(-(m.a * s.logit + m.b)))) AS probability,
    s.n_tokens AS n_tokens, s.truncated AS truncated, l.grade AS label, v.verdict AS verdict, v.reason AS reason,
    v.weight AS weight, v.judgement AS judgement, qi.external_id AS query_id, qi.split AS split
FROM round_parts AS r
JOIN verdicts AS v ON v.artifact_id = r.judged AND v.verdict = 'positive'
LEFT JOIN query_ids AS qi ON qi.corpus = r.corpus AND qi.query_key = v.query_key AND qi.shown
LEFT JOIN models AS m ON m.model_id = r.teacher_id
LEFT JOIN teacher_scores AS s
    ON s.teacher_id = r.teacher_id AND s.query_key = v.query_key AND s.passage_key = v.passage_key
LEFT JOIN current_labels AS l
    ON l.corpus = r.corpus AND l.query_key = v.query_key AND l.passage_key = v.passage_key;

COMMENT ON VIEW positive_facts IS 'Every labelled positive of every mined query with what the teacher says of it, by keys; candidates that a reviewer calls relevant are among them.';
COMMENT ON COLUMN positive_facts.run IS 'Key in runs.';
COMMENT ON COLUMN positive_facts.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN positive_facts.corpus IS 'Corpus of the run.';
COMMENT ON COLUMN positive_facts.teacher_id IS 'The teacher, key in models; NULL before scoring.';
COMMENT ON COLUMN positive_facts.query_key IS 'Key in queries.';
COMMENT ON COLUMN positive_facts.passage_key IS 'Key in passages.';
COMMENT ON COLUMN positive_facts.logit IS 'The teacher''s raw logit; NULL where the pair is not scored.';
COMMENT ON COLUMN positive_facts.probability IS 'Calibrated probability of relevance, 0 to 1: the verdict''s, else sigmoid(a * logit + b); NULL where neither is known.';
COMMENT ON COLUMN positive_facts.n_tokens IS 'Tokens that the teacher read; NULL where not scored.';
COMMENT ON COLUMN positive_facts.truncated IS 'True where the teacher read a shortened passage; NULL where not scored.';
COMMENT ON COLUMN positive_facts.label IS 'Grade as it holds now; NULL where the label was withdrawn since.';
COMMENT ON COLUMN positive_facts.verdict IS 'Always positive.';
COMMENT ON COLUMN positive_facts.reason IS 'Why it decided so; NULL before denoising.';
COMMENT ON COLUMN positive_facts.weight IS 'Weight in training; NULL before denoising.';
COMMENT ON COLUMN positive_facts.judgement IS 'Training target on the logit scale; NULL before denoising or where not scored.';
COMMENT ON COLUMN positive_facts.query_id IS 'Id of the query in the run''s corpus (the smallest where several share the text).';
COMMENT ON COLUMN positive_facts.split IS 'Split of the query; empty where it has no labels.';
