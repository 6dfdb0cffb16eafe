-- Is the warehouse healthy?
-- No row is good news.
SELECT name, problems, meaning
FROM data_quality
WHERE problems > 0
ORDER BY name;
