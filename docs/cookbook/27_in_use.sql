-- Who or what put which student into use, and why?
-- Newest first; the newest of a recipe is what `remine export` and `search` follow. made_by: a run at its end, a hand by `remine promote`, or `remine rollback`.
SELECT recipe, run_id AS run, system, made_by, who, why,
    promotion_id = max(promotion_id) OVER (PARTITION BY recipe) AS in_use
FROM promotions
ORDER BY promotion_id DESC
LIMIT 10;
