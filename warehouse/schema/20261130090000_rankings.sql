-- What evaluated systems ranked first, and which run a snapshot was taken of.

CREATE TABLE rankings (
    artifact_id INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    rank INTEGER NOT NULL CHECK (rank >= 1),
    score FLOAT NOT NULL CHECK (isfinite(score))
);

CREATE TABLE snapshots (
    published_at TIMESTAMPTZ NOT NULL,
    run_id INTEGER
);

INSERT INTO snapshots SELECT published_at, NULL FROM snapshot_info;

DROP TABLE snapshot_info;
