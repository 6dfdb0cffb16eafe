-- Scores that were made elsewhere come without the number of tokens.

ALTER TABLE teacher_scores ALTER COLUMN n_tokens DROP NOT NULL;
ALTER TABLE teacher_scores ALTER COLUMN truncated DROP NOT NULL;
