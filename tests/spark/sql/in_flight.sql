-- No data arrives beyond the credit that its receiver gave, and no more credit is out than buffers are reserved.
WITH steps AS (
  SELECT channel, seq, credits AS granted, 0 AS data, 0 AS arrived, 0 AS reserved
  FROM credits WHERE kind IN (0, 2)
  UNION ALL
  SELECT channel, seq, 0, CASE WHEN kind = 0 THEN 1 ELSE 0 END, 1, credits FROM buffers WHERE side = 1
), balances AS (
  SELECT steps.*, sum(granted - data) OVER (PARTITION BY channel ORDER BY seq ROWS UNBOUNDED PRECEDING) AS balance
  FROM steps JOIN channels USING (channel) WHERE local = 0
)
SELECT channel, seq, balance FROM balances
WHERE (data = 1 AND balance < 0) OR (arrived = 1 AND balance > reserved)
