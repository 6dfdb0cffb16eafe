-- Which passages are the same text under several ids?
SELECT i.corpus, count(*) AS ids, string_agg(i.external_id, ', ' ORDER BY i.external_id) AS external_ids,
    left(any_value(p.text), 60) AS passage
FROM passage_ids AS i
JOIN passages AS p USING (passage_key)
WHERE i.until IS NULL
GROUP BY i.corpus, i.passage_key
HAVING count(*) > 1
ORDER BY ids DESC, external_ids
LIMIT 10;
