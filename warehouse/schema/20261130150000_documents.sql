-- Documents may be cut into passages: an id says of which document it is. Until now every passage was its own.

ALTER TABLE passage_ids ADD COLUMN document VARCHAR;
UPDATE passage_ids SET document = external_id;
ALTER TABLE passage_ids ALTER COLUMN document SET NOT NULL;
