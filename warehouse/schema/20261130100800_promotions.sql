-- Which student a recipe's users are to serve: who decided it, when and why.

CREATE TABLE promotions (
    promotion_id INTEGER PRIMARY KEY,
    recipe VARCHAR NOT NULL,
    run_id INTEGER NOT NULL,
    system VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    trust_remote_code BOOLEAN NOT NULL,
    evaluation VARCHAR NOT NULL,
    made_by VARCHAR NOT NULL CHECK (made_by IN ('run', 'hand', 'rollback')),
    who VARCHAR NOT NULL CHECK (who <> ''),
    why VARCHAR NOT NULL CHECK (why <> ''),
    decided_at TIMESTAMPTZ NOT NULL
);
