-- Documents may be cut into passages: an id says of which document it is. Until now every passage was its own.
-- A table made anew, because DuckDB sets no constraint on rows that the same transaction has changed.

CREATE TABLE passage_ids_now (
    corpus VARCHAR NOT NULL,
    external_id VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    passage_key INTEGER NOT NULL,
    shown BOOLEAN NOT NULL,
    since TIMESTAMPTZ NOT NULL,
    until TIMESTAMPTZ,
    document VARCHAR NOT NULL
);

INSERT INTO passage_ids_now SELECT *, external_id FROM passage_ids;
DROP TABLE passage_ids;
ALTER TABLE passage_ids_now RENAME TO passage_ids;
