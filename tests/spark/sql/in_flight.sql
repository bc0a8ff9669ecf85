-- No data arrives beyond the credit that its receiver gave, no more credit is out than buffers are reserved (once until
-- it is even more), and each buffer that was received is recycled once.
WITH steps AS (
  SELECT channel, seq, credits AS granted, 0 AS data, 0 AS arrived, 0 AS reserved
  FROM credits WHERE kind IN (0, 2)
  UNION ALL
  SELECT channel, seq, 0, CASE WHEN kind = 0 THEN 1 ELSE 0 END, 1, credits FROM buffers WHERE side = 1
), balances AS (
  SELECT steps.*, sum(granted - data) OVER (PARTITION BY channel ORDER BY seq ROWS UNBOUNDED PRECEDING) AS balance
  FROM steps JOIN channels USING (channel) WHERE local = 0
), excesses AS (
  SELECT *, CASE WHEN reserved = -1 OR balance <= reserved THEN 0 ELSE balance - reserved END AS excess
  FROM balances WHERE arrived = 1
), arrivals AS (
  SELECT *, lag(excess, 1, 0) OVER (PARTITION BY channel ORDER BY seq) AS before FROM excesses
), held AS (
  SELECT channel, seq, number, side,
    lag(side) OVER (PARTITION BY channel, number ORDER BY seq) AS before,
    lead(side) OVER (PARTITION BY channel, number ORDER BY seq) AS after
  FROM buffers JOIN channels USING (channel)
  WHERE local = 0 AND ((side = 1 AND kind = 0) OR side = 5)
)
SELECT channel, seq, balance FROM arrivals
WHERE (data = 1 AND balance < 0) OR excess > before
UNION ALL
SELECT channel, seq, number FROM held
WHERE (side = 5 AND coalesce(before, 5) <> 1) OR (side = 1 AND after IS NULL)
