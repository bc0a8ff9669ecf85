-- What was received is what was sent, position by position.
WITH both_sides AS (
  SELECT channel, position, 1 AS is_sent, struct(kind, timestamp, fingerprint) AS payload FROM sent
  UNION ALL
  SELECT channel, position, 0 AS is_sent, struct(kind, timestamp, fingerprint) AS payload FROM received
)
SELECT channel, position
FROM both_sides
GROUP BY channel, position
HAVING sum(is_sent) <> 1 OR sum(1 - is_sent) <> 1 OR min(payload) <> max(payload)
