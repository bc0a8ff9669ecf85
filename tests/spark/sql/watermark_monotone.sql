-- Watermarks grow on every channel between the moments it is idle, and in every task.
WITH marks AS (
  SELECT channel, seq, kind, timestamp,
         count_if(kind = 2 AND timestamp = -1) OVER (PARTITION BY channel ORDER BY seq) AS spell,
         lag(struct(kind, timestamp)) OVER (PARTITION BY channel ORDER BY seq) AS before
  FROM sent WHERE kind IN (1, 2)
), growing AS (
  SELECT channel, seq, timestamp, before,
         lag(timestamp) OVER (PARTITION BY channel, spell ORDER BY seq) AS last
  FROM marks WHERE kind = 1
)
SELECT 'channel' AS place, channel AS number, seq, timestamp FROM growing
WHERE timestamp <= last OR (before.kind = 2 AND before.timestamp = -1)
UNION ALL
SELECT 'task' AS place, task AS number, seq, timestamp
FROM (
  SELECT task, seq, timestamp, lag(timestamp) OVER (PARTITION BY task, input ORDER BY seq) AS last
  FROM task_watermark WHERE kind = 1
)
WHERE timestamp <= last
