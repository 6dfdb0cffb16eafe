-- How old is this snapshot, and what was going on when it was taken?
SELECT round(age_seconds / 60) AS minutes, run, recipe, status
FROM snapshot_info;
