-- Results, cost and coverage of runs.

CREATE OR REPLACE VIEW leaderboard AS
SELECT DISTINCT r.run_id AS run, m.system AS system, m.split AS split, m.measure AS measure, m.value AS value,
    m.chance AS chance, m.queries AS queries
FROM rounds AS r
JOIN metrics AS m ON m.artifact_id = r.artifact_id;

COMMENT ON VIEW leaderboard IS 'Every evaluated system of every run on every split, beside chance.';
COMMENT ON COLUMN leaderboard.run IS 'Key in runs.';
COMMENT ON COLUMN leaderboard.system IS 'chance, bm25, hybrid, base, warm, warm-long, teacher, incumbent (in use before a refresh), round-N or round-N+teacher; NAME@D: by the first D numbers of its vectors.';
COMMENT ON COLUMN leaderboard.split IS 'Split of the queries.';
COMMENT ON COLUMN leaderboard.measure IS 'Measure, as ir-measures names it.';
COMMENT ON COLUMN leaderboard.value IS 'Mean over the queries.';
COMMENT ON COLUMN leaderboard.chance IS 'What a random order would get on the same queries; NULL where not computed.';
COMMENT ON COLUMN leaderboard.queries IS 'Number of queries in the mean.';

CREATE OR REPLACE VIEW incumbents AS
SELECT recipe, run_id AS run, system, made_by, who, why, decided_at
FROM promotions
QUALIFY row_number() OVER (PARTITION BY recipe ORDER BY promotion_id DESC) = 1;

COMMENT ON VIEW incumbents IS 'The student that each recipe''s users serve now, with who decided it and why; promotions has all decisions.';
COMMENT ON COLUMN incumbents.recipe IS 'Name of the recipe.';
COMMENT ON COLUMN incumbents.run IS 'Run whose student it is, key in runs.';
COMMENT ON COLUMN incumbents.system IS 'The student within its run: base, warm, warm-long or round-N.';
COMMENT ON COLUMN incumbents.made_by IS 'run: at the end of a run; hand: remine promote; rollback: remine rollback.';
COMMENT ON COLUMN incumbents.who IS 'Account that decided, or that the run ran as.';
COMMENT ON COLUMN incumbents.why IS 'The reason, in a sentence.';
COMMENT ON COLUMN incumbents.decided_at IS 'When it was decided.';

CREATE OR REPLACE VIEW query_results AS
SELECT DISTINCT r.run_id AS run, m.system AS system, m.split AS split, qi.external_id AS query_id, q.text AS query,
    m.measure AS measure, m.value AS value
FROM rounds AS r
JOIN runs AS u ON u.run_id = r.run_id
JOIN query_metrics AS m ON m.artifact_id = r.artifact_id
JOIN queries AS q ON q.query_key = m.query_key
LEFT JOIN query_ids AS qi ON qi.corpus = u.corpus AND qi.query_key = m.query_key AND qi.shown;

COMMENT ON VIEW query_results IS 'Every evaluated system of every run on every single query: where one is better than another.';
COMMENT ON COLUMN query_results.run IS 'Key in runs.';
COMMENT ON COLUMN query_results.system IS 'chance, bm25, hybrid, base, warm, warm-long, teacher, incumbent (in use before a refresh), round-N or round-N+teacher; NAME@D: by the first D numbers of its vectors.';
COMMENT ON COLUMN query_results.split IS 'Split of the query.';
COMMENT ON COLUMN query_results.query_id IS 'Id of the query in the run''s corpus (the smallest where several share the text); NULL where another corpus shares the artifact.';
COMMENT ON COLUMN query_results.query IS 'Text of the query.';
COMMENT ON COLUMN query_results.measure IS 'Measure, as ir-measures names it.';
COMMENT ON COLUMN query_results.value IS 'Value for this query, 0 to 1.';

CREATE OR REPLACE VIEW ranked_passages AS
WITH evaluated AS (
    SELECT DISTINCT r.run_id, u.corpus, r.artifact_id, m.system
    FROM rounds AS r
    JOIN runs AS u ON u.run_id = r.run_id
    JOIN metrics AS m ON m.artifact_id = r.artifact_id
)
SELECT e.run_id AS run, e.system AS system, qi.split AS split, qi.external_id AS query_id, q.text AS query,
    k.rank AS rank, pi.external_id AS passage_id, p.text AS passage, k.score AS score, l.grade AS label
FROM evaluated AS e
JOIN rankings AS k ON k.artifact_id = e.artifact_id
JOIN queries AS q ON q.query_key = k.query_key
JOIN passages AS p ON p.passage_key = k.passage_key
LEFT JOIN query_ids AS qi ON qi.corpus = e.corpus AND qi.query_key = k.query_key AND qi.shown
LEFT JOIN passage_ids AS pi ON pi.passage_key = k.passage_key AND pi.corpus BETWEEN e.corpus AND e.corpus AND pi.shown
LEFT JOIN current_labels AS l ON l.corpus = e.corpus AND l.query_key = k.query_key AND l.passage_key = k.passage_key;

COMMENT ON VIEW ranked_passages IS 'What every evaluated system of every run ranked first for every dev and test query, with ids, texts and labels.';
COMMENT ON COLUMN ranked_passages.run IS 'Key in runs.';
COMMENT ON COLUMN ranked_passages.system IS 'bm25, hybrid, base, warm, warm-long, teacher, incumbent (in use before a refresh), round-N or round-N+teacher; NAME@D: by the first D numbers of its vectors.';
COMMENT ON COLUMN ranked_passages.split IS 'Split of the query: dev or test.';
COMMENT ON COLUMN ranked_passages.query_id IS 'Id of the query in the run''s corpus (the smallest where several share the text); NULL where another corpus shares the artifact.';
COMMENT ON COLUMN ranked_passages.query IS 'Text of the query.';
COMMENT ON COLUMN ranked_passages.rank IS 'Rank by the system, from 1.';
COMMENT ON COLUMN ranked_passages.passage_id IS 'Id of the passage in the run''s corpus (the smallest where several share the text); NULL where another corpus shares the artifact.';
COMMENT ON COLUMN ranked_passages.passage IS 'Text of the passage, title first.';
COMMENT ON COLUMN ranked_passages.score IS 'The system''s own score: to be compared within a query and system only.';
COMMENT ON COLUMN ranked_passages.label IS 'Grade given by people: above 0 relevant, 0 not relevant; NULL where nobody judged the pair.';

CREATE OR REPLACE VIEW steps AS
WITH placed AS (
    SELECT run_id, round, step, artifact_id,
        round = min(round) OVER (PARTITION BY run_id, artifact_id) AS earliest
    FROM rounds
)
SELECT r.run_id AS run, r.round AS round, r.step AS step, a.fingerprint AS artifact,
    r.earliest AND a.run_id = r.run_id AND a.made_at >= u.started_at AS made,
    CASE WHEN r.earliest AND a.run_id = r.run_id AND a.made_at >= u.started_at THEN a.seconds ELSE 0 END AS seconds,
    a.path AS path, a.facts AS facts
FROM placed AS r
JOIN artifacts AS a ON a.artifact_id = r.artifact_id
JOIN runs AS u ON u.run_id = r.run_id;

COMMENT ON VIEW steps IS 'What each step of each round took: made in this run, or found from an earlier one.';
COMMENT ON COLUMN steps.run IS 'Key in runs.';
COMMENT ON COLUMN steps.round IS 'Round of the run; 0 is what comes before the rounds.';
COMMENT ON COLUMN steps.step IS 'Part the artifact plays, by the step''s verb.';
COMMENT ON COLUMN steps.artifact IS 'Fingerprint of the artifact.';
COMMENT ON COLUMN steps.made IS 'True where this round of this run made it; false where it was found, also from an earlier round.';
COMMENT ON COLUMN steps.seconds IS 'Seconds spent in this run; 0 where it was found.';
COMMENT ON COLUMN steps.path IS 'Folder of the artifact.';
COMMENT ON COLUMN steps.facts IS 'What the step wrote down about its result, as JSON.';

CREATE OR REPLACE VIEW cost AS
WITH used AS (
    SELECT DISTINCT run, round, artifact, made, seconds, facts, step = 'score' AS scores FROM steps
),
counted AS (
    SELECT run, round, made, seconds, scores,
        CAST(json_extract_string(facts, '$.pairs') AS BIGINT) AS pairs,
        CAST(json_extract_string(facts, '$.new') AS BIGINT) AS fresh,
        CAST(json_extract_string(facts, '$.tokens') AS BIGINT) AS tokens,
        CASE WHEN scores THEN CAST(json_extract_string(facts, '$.truncated') AS BIGINT) END AS truncated
    FROM used
)
SELECT run, round, coalesce(sum(pairs) FILTER (scores), 0)::BIGINT AS pairs,
    coalesce(sum(fresh) FILTER (scores AND made), 0)::BIGINT AS scored,
    (coalesce(sum(pairs) FILTER (scores), 0) - coalesce(sum(fresh) FILTER (scores AND made), 0))::BIGINT AS reused,
    coalesce(sum(tokens) FILTER (scores AND made), 0)::BIGINT AS tokens,
    sum(truncated) FILTER (scores)::BIGINT AS truncated,
    coalesce(sum(seconds) FILTER (scores), 0) AS scoring_seconds, sum(seconds) AS seconds
FROM counted
GROUP BY run, round;

COMMENT ON VIEW cost IS 'What each round cost: pairs that the teacher scored, pairs whose scores were there, tokens and seconds.';
COMMENT ON COLUMN cost.run IS 'Key in runs.';
COMMENT ON COLUMN cost.round IS 'Round of the run; 0 is what comes before the rounds.';
COMMENT ON COLUMN cost.pairs IS 'Pairs whose scores the round needed.';
COMMENT ON COLUMN cost.scored IS 'Pairs that the teacher scored in this run.';
COMMENT ON COLUMN cost.reused IS 'Pairs whose scores were there already.';
COMMENT ON COLUMN cost.tokens IS 'Tokens that the teacher read in this run.';
COMMENT ON COLUMN cost.truncated IS 'Needed pairs whose passage was cut; NULL where not recorded.';
COMMENT ON COLUMN cost.scoring_seconds IS 'Seconds of scoring in this run.';
COMMENT ON COLUMN cost.seconds IS 'Seconds of all steps in this run.';

CREATE OR REPLACE VIEW coverage AS
WITH found AS (
    SELECT run, round, teacher_id, count(DISTINCT query_key) AS queries, count(*) AS candidates,
        count(logit) AS scored, count(verdict) AS judged
    FROM candidate_facts
    GROUP BY run, round, teacher_id
),
known AS (
    SELECT run, round, teacher_id, count(*) AS positives, count(logit) AS positives_scored
    FROM positive_facts
    GROUP BY run, round, teacher_id
)
SELECT f.run AS run, f.round AS round, m.name AS teacher, f.queries AS queries, f.candidates AS candidates,
    f.scored AS scored, f.scored / f.candidates AS share, f.judged AS judged,
    coalesce(k.positives, 0) AS positives, coalesce(k.positives_scored, 0) AS positives_scored
FROM found AS f
LEFT JOIN known AS k ON k.run = f.run AND k.round = f.round AND k.teacher_id IS NOT DISTINCT FROM f.teacher_id
LEFT JOIN models AS m ON m.model_id = f.teacher_id;

COMMENT ON VIEW coverage IS 'How much of each round the teacher has scored.';
COMMENT ON COLUMN coverage.run IS 'Key in runs.';
COMMENT ON COLUMN coverage.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN coverage.teacher IS 'Name of the teacher; NULL before scoring.';
COMMENT ON COLUMN coverage.queries IS 'Queries that were mined.';
COMMENT ON COLUMN coverage.candidates IS 'Candidates of the round.';
COMMENT ON COLUMN coverage.scored IS 'Candidates with a score.';
COMMENT ON COLUMN coverage.share IS 'scored / candidates.';
COMMENT ON COLUMN coverage.judged IS 'Candidates with a verdict.';
COMMENT ON COLUMN coverage.positives IS 'Labelled positives of the mined queries; 0 before denoising.';
COMMENT ON COLUMN coverage.positives_scored IS 'Labelled positives with a score.';

CREATE OR REPLACE VIEW score_histogram AS
WITH scored AS (
    SELECT run, round, teacher_id, logit, verdict IN ('approved', 'promoted') AS approved, false AS positive
    FROM candidate_facts
    WHERE logit IS NOT NULL AND verdict IS DISTINCT FROM 'positive'
    UNION ALL
    SELECT run, round, teacher_id, logit, false AS approved, true AS positive
    FROM positive_facts
    WHERE logit IS NOT NULL
)
SELECT s.run AS run, s.round AS round, m.name AS teacher, floor(2 * s.logit) / 2 AS logit_from,
    floor(2 * s.logit) / 2 + 0.5 AS logit_to, count(*) FILTER (NOT s.positive) AS candidates,
    count(*) FILTER (s.approved) AS approved, count(*) FILTER (s.positive) AS positives
FROM scored AS s
LEFT JOIN models AS m ON m.model_id = s.teacher_id
GROUP BY s.run, s.round, s.teacher_id, m.name, logit_from, logit_to;

COMMENT ON VIEW score_histogram IS 'How the teacher''s logits are spread, in steps of one half: candidates beside labelled positives.';
COMMENT ON COLUMN score_histogram.run IS 'Key in runs.';
COMMENT ON COLUMN score_histogram.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN score_histogram.teacher IS 'Name of the teacher; NULL before scoring.';
COMMENT ON COLUMN score_histogram.logit_from IS 'Lower end of the step, included.';
COMMENT ON COLUMN score_histogram.logit_to IS 'Upper end of the step, not included.';
COMMENT ON COLUMN score_histogram.candidates IS 'Candidates in the step.';
COMMENT ON COLUMN score_histogram.approved IS 'Of these, taken for relevant (approved or promoted).';
COMMENT ON COLUMN score_histogram.positives IS 'Labelled positives in the step.';

CREATE OR REPLACE VIEW snapshot_info AS
SELECT s.published_at AS published_at, epoch(now()) - epoch(s.published_at) AS age_seconds, s.run_id AS run,
    r.recipe AS recipe, r.status AS status
FROM snapshots AS s
LEFT JOIN runs AS r ON r.run_id = s.run_id;

COMMENT ON VIEW snapshot_info IS 'One row about the snapshot: in the snapshot itself, how old it is; in the warehouse, when the last one was taken. Empty before the first one.';
COMMENT ON COLUMN snapshot_info.published_at IS 'When it was taken.';
COMMENT ON COLUMN snapshot_info.age_seconds IS 'Seconds from then to now.';
COMMENT ON COLUMN snapshot_info.run IS 'The newest run at that time, key in runs; NULL where there was none or an earlier version took it.';
COMMENT ON COLUMN snapshot_info.recipe IS 'Recipe of that run; NULL where the run is.';
COMMENT ON COLUMN snapshot_info.status IS 'How that run stands in this file: running in a snapshot that was taken during it; NULL where the run is.';
