-- What mining looked at and what it left out.

CREATE OR REPLACE VIEW mining_counts AS
WITH told AS (
    SELECT r.run_id, r.round, CAST(json_extract(a.facts, '$.lists') AS MAP(VARCHAR, MAP(VARCHAR, BIGINT))) AS lists
    FROM rounds AS r
    JOIN artifacts AS a ON a.artifact_id = r.artifact_id
    WHERE r.step = 'mine' AND r.round > 0
),
listed AS (
    SELECT run_id, round, unnest(map_entries(lists)) AS list FROM told
),
met AS (
    SELECT run_id, round, list.key AS miner, unnest(map_entries(list.value)) AS fate FROM listed
)
SELECT run_id AS run, round, miner, fate.key AS fate, fate.value AS passages,
    fate.value / nullif(sum(fate.value) OVER (PARTITION BY run_id, round, miner), 0) AS share
FROM met;

COMMENT ON VIEW mining_counts IS 'What became of every passage that a miner retrieved, by round, miner and fate.';
COMMENT ON COLUMN mining_counts.run IS 'Key in runs.';
COMMENT ON COLUMN mining_counts.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN mining_counts.miner IS 'Whose list it was (a system''s name); hybrid where several were fused.';
COMMENT ON COLUMN mining_counts.fate IS 'near duplicate (of a positive, before ranks are counted), outside the ranks, below the floor, at the ceiling, above perc_pos, above margin_pos, not picked, query dropped (it has too few, and too_few is drop), kept, widened (kept from below the window).';
COMMENT ON COLUMN mining_counts.passages IS 'Passages of all queries together that met this fate; of several filters, the first one counts.';
COMMENT ON COLUMN mining_counts.share IS 'Their share of what the miner retrieved; NULL where that was nothing.';

CREATE OR REPLACE VIEW mining_recall AS
WITH told AS (
    SELECT r.run_id, r.round, json_extract(a.settings, '$.index') AS index,
        unnest(map_entries(CAST(json_extract(a.facts, '$.recall') AS MAP(VARCHAR, DOUBLE)))) AS found
    FROM rounds AS r
    JOIN artifacts AS a ON a.artifact_id = r.artifact_id
    WHERE r.step = 'mine' AND r.round > 0
)
SELECT run_id AS run, round, found.key AS miner, json_extract_string(index, '$.kind') AS kind, found.value AS recall,
    CAST(json_extract_string(index, '$.sample') AS INTEGER) AS sample
FROM told;

COMMENT ON VIEW mining_recall IS 'How much of the exact lists an approximate search found; empty where search is exact.';
COMMENT ON COLUMN mining_recall.run IS 'Key in runs.';
COMMENT ON COLUMN mining_recall.round IS 'Round of the run, counted from 1.';
COMMENT ON COLUMN mining_recall.miner IS 'Whose vectors were searched (a system''s name).';
COMMENT ON COLUMN mining_recall.kind IS 'Index: ivf or hnsw; NULL where the artifact does not say.';
COMMENT ON COLUMN mining_recall.recall IS 'Mean share of the exact first passages, as deep as lists are, that it found, 0 to 1.';
COMMENT ON COLUMN mining_recall.sample IS 'Queries it was measured on at most; NULL where the artifact does not say.';
