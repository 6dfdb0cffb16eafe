-- Dimensions: small, with keys.

CREATE TABLE runs (
    run_id INTEGER PRIMARY KEY,
    flow VARCHAR NOT NULL,
    recipe VARCHAR NOT NULL,
    corpus VARCHAR,
    settings JSON NOT NULL,
    facts JSON NOT NULL,
    status VARCHAR NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'cancelled', 'crashed')),
    error VARCHAR,
    started_at TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ,
    CHECK ((status = 'running') = (finished_at IS NULL))
);

CREATE TABLE artifacts (
    artifact_id INTEGER PRIMARY KEY,
    step VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL UNIQUE,
    code INTEGER NOT NULL,
    settings JSON NOT NULL,
    inputs JSON NOT NULL,
    versions JSON NOT NULL,
    path VARCHAR NOT NULL,
    seconds DOUBLE NOT NULL CHECK (seconds >= 0),
    facts JSON NOT NULL,
    made_at TIMESTAMPTZ NOT NULL,
    run_id INTEGER NOT NULL
);

CREATE TABLE rounds (
    run_id INTEGER NOT NULL,
    round INTEGER NOT NULL CHECK (round >= 0),
    step VARCHAR NOT NULL,
    artifact_id INTEGER NOT NULL,
    PRIMARY KEY (run_id, round, step, artifact_id)
);

CREATE TABLE models (
    model_id INTEGER PRIMARY KEY,
    role VARCHAR NOT NULL CHECK (role IN ('student', 'teacher')),
    name VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    activation VARCHAR,
    a DOUBLE CHECK (isfinite(a)),
    b DOUBLE CHECK (isfinite(b)),
    max_length INTEGER CHECK (max_length > 0),
    prompts JSON,
    similarity VARCHAR CHECK (similarity IN ('cosine', 'dot')),
    path VARCHAR,
    registered_at TIMESTAMPTZ NOT NULL,
    UNIQUE (role, fingerprint)
);

CREATE TABLE passages (
    passage_key INTEGER PRIMARY KEY,
    text_hash BIGINT NOT NULL UNIQUE,
    text VARCHAR NOT NULL CHECK (text <> '')
);

CREATE TABLE queries (
    query_key INTEGER PRIMARY KEY,
    text_hash BIGINT NOT NULL UNIQUE,
    text VARCHAR NOT NULL CHECK (text <> '')
);

CREATE TABLE passage_ids (
    corpus VARCHAR NOT NULL,
    external_id VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    passage_key INTEGER NOT NULL,
    shown BOOLEAN NOT NULL,
    since TIMESTAMPTZ NOT NULL,
    until TIMESTAMPTZ
);

CREATE TABLE query_ids (
    corpus VARCHAR NOT NULL,
    external_id VARCHAR NOT NULL,
    split VARCHAR NOT NULL CHECK (split IN ('train', 'dev', 'test', 'guard', '')),
    query_key INTEGER NOT NULL,
    shown BOOLEAN NOT NULL,
    since TIMESTAMPTZ NOT NULL,
    until TIMESTAMPTZ
);

CREATE TABLE labels (
    corpus VARCHAR NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    grade INTEGER NOT NULL CHECK (grade >= 0),
    split VARCHAR NOT NULL CHECK (split IN ('train', 'dev', 'test', 'guard', '')),
    source VARCHAR NOT NULL,
    since TIMESTAMPTZ NOT NULL,
    until TIMESTAMPTZ
);

CREATE TABLE corpus_loads (
    load_id INTEGER PRIMARY KEY,
    corpus VARCHAR NOT NULL,
    artifact_fingerprint VARCHAR NOT NULL,
    counts JSON NOT NULL,
    run_id INTEGER NOT NULL,
    loaded_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE snapshot_info (
    published_at TIMESTAMPTZ NOT NULL
);

-- Facts: integer keys, sorted on load, no PRIMARY KEY (it makes loads 20 times slower and the file 10 times larger).

CREATE TABLE teacher_scores (
    teacher_id INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    logit FLOAT NOT NULL CHECK (isfinite(logit)),
    n_tokens INTEGER NOT NULL CHECK (n_tokens > 0),
    truncated BOOLEAN NOT NULL,
    run_id INTEGER NOT NULL,
    scored_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE candidates (
    artifact_id INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    rank INTEGER NOT NULL CHECK (rank >= 1),
    student_score FLOAT NOT NULL CHECK (isfinite(student_score)),
    miner VARCHAR NOT NULL
);

CREATE TABLE verdicts (
    artifact_id INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    verdict VARCHAR NOT NULL
        CHECK (verdict IN ('positive', 'promoted', 'negative', 'approved', 'ambiguous', 'unscored')),
    reason VARCHAR NOT NULL,
    weight FLOAT NOT NULL CHECK (isfinite(weight) AND weight >= 0),
    probability FLOAT CHECK (probability BETWEEN 0 AND 1),
    judgement FLOAT CHECK (isfinite(judgement))
);

CREATE TABLE metrics (
    artifact_id INTEGER NOT NULL,
    system VARCHAR NOT NULL,
    split VARCHAR NOT NULL CHECK (split IN ('train', 'dev', 'test', 'guard')),
    measure VARCHAR NOT NULL,
    value DOUBLE NOT NULL CHECK (isfinite(value)),
    chance DOUBLE CHECK (isfinite(chance)),
    queries INTEGER NOT NULL CHECK (queries > 0)
);

CREATE TABLE query_metrics (
    artifact_id INTEGER NOT NULL,
    system VARCHAR NOT NULL,
    split VARCHAR NOT NULL CHECK (split IN ('train', 'dev', 'test', 'guard')),
    query_key INTEGER NOT NULL,
    measure VARCHAR NOT NULL,
    value DOUBLE NOT NULL CHECK (isfinite(value))
);

CREATE TABLE diagnostics (
    artifact_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    value DOUBLE CHECK (isfinite(value)),
    note VARCHAR
);

CREATE TABLE history (
    artifact_id INTEGER NOT NULL,
    step INTEGER NOT NULL CHECK (step >= 0),
    epoch DOUBLE NOT NULL CHECK (epoch >= 0),
    loss DOUBLE,
    measure DOUBLE CHECK (isfinite(measure)),
    seconds DOUBLE NOT NULL CHECK (seconds >= 0),
    tokens BIGINT NOT NULL CHECK (tokens >= 0)
);

CREATE TABLE shard_loads (
    name VARCHAR PRIMARY KEY,
    table_name VARCHAR NOT NULL,
    artifact_id INTEGER,
    teacher_id INTEGER,
    n_rows BIGINT NOT NULL CHECK (n_rows >= 0),
    n_new BIGINT NOT NULL CHECK (n_new BETWEEN 0 AND n_rows),
    precision VARCHAR,
    device VARCHAR,
    versions JSON,
    seconds DOUBLE,
    run_id INTEGER NOT NULL,
    loaded_at TIMESTAMPTZ NOT NULL,
    CHECK ((artifact_id IS NULL) <> (teacher_id IS NULL))
);
