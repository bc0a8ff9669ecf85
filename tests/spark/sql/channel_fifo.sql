-- What was received is what was sent, position by position, and each side took its positions in order. Barriers that may
-- overtake (kind 9) and restored elements (below 0) are not compared. The law counts the steps between both sequences
-- instead: a lost element is one, and here the difference at each later position.
WITH both_sides AS (
  SELECT task, seq, channel, position, 1 AS is_sent, struct(kind, timestamp, fingerprint) AS payload FROM sent
  WHERE kind <> 9
  UNION ALL
  SELECT task, seq, channel, position, 0 AS is_sent, struct(kind, timestamp, fingerprint) AS payload FROM received
  WHERE kind <> 9 AND position >= 0
), in_order AS (
  SELECT *, lag(position) OVER (PARTITION BY is_sent, task, channel ORDER BY seq, position) AS before FROM both_sides
)
SELECT channel, position FROM in_order WHERE position < before
UNION ALL
SELECT channel, position
FROM both_sides
GROUP BY channel, position
HAVING sum(is_sent) <> 1 OR sum(1 - is_sent) <> 1 OR min(payload) <> max(payload)
