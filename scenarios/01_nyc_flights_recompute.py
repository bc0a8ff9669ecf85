"""Computes the results of 01_nyc_flights.yaml again from its input file, in plain PySpark and in one batch.

It knows nothing of the simulator: which rows are late follows from the order of the file alone.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

HOUR_MS = 3_600_000
BOUND_MS = 30 * 60_000
EVIDENCE_ROWS = 20

COLUMNS = (
    "departed_ms long, scheduled_ms long, origin string, dest string, carrier string, flight long, tailnum string, "
    "dep_delay_min long, distance_mi long"
)


def check(spark: SparkSession, input_path: str, out_dir: str) -> dict[str, object]:
    """Compares ``out_dir/sinks/windows`` and ``out_dir/sinks/late`` with the recomputation, in both directions."""
    rows = read_in_file_order(spark, input_path)
    judged = with_lateness(rows).cache()
    late = judged.where("is_late").drop("row", "is_late", "window_start_ms")
    parts = [
        difference("windows", hourly(judged.where("not is_late")), spark.read.parquet(f"{out_dir}/sinks/windows")),
        difference("late", late, spark.read.parquet(f"{out_dir}/sinks/late")),
    ]
    judged.unpersist()
    return {
        "rows_examined": sum(rows for rows, _, _ in parts),
        "violations": sum(violations for _, violations, _ in parts),
        "evidence": [row for _, _, evidence in parts for row in evidence][:EVIDENCE_ROWS],
    }


def read_in_file_order(spark: SparkSession, input_path: str) -> DataFrame:
    """All rows, numbered as they stand in the file: the order in which they arrive."""
    flights = spark.read.csv(input_path, header=True, schema=COLUMNS, mode="FAILFAST", nullValue="\u0000")
    if flights.select(F.spark_partition_id()).distinct().count() > 1:
        raise ValueError(
            f"{input_path}: expected one partition (a .gz file is not split), else the order of rows is lost"
        )
    return flights.withColumn("row", F.monotonically_increasing_id())


def with_lateness(rows: DataFrame) -> DataFrame:
    """Adds route, window and whether the row was late when it arrived.

    Before a row the watermark is the highest event time of the rows before it, minus 30 minutes, minus 1 ms; the row is
    late when the last millisecond of its window is not behind that watermark.
    """
    before = Window.orderBy("row").rowsBetween(Window.unboundedPreceding, -1)
    watermark = F.max("scheduled_ms").over(before) - F.lit(BOUND_MS + 1)
    start = F.col("scheduled_ms") - F.pmod(F.col("scheduled_ms"), F.lit(HOUR_MS))
    last_ms = F.col("window_start_ms") + F.lit(HOUR_MS - 1)
    return (
        rows.withColumn("route", F.concat("origin", F.lit("-"), "dest"))
        .withColumn("window_start_ms", start)
        .withColumn("is_late", F.coalesce(last_ms <= watermark, F.lit(False)))
    )


def hourly(on_time: DataFrame) -> DataFrame:
    """Count, sum and maximum of the delay per airport and hour."""
    return (
        on_time.where("origin != ''")
        .groupBy("origin", "window_start_ms")
        .agg(
            F.count("*").alias("flights"),
            F.sum("dep_delay_min").alias("delay_sum_min"),
            F.max("dep_delay_min").alias("delay_max_min"),
        )
        .withColumn("window_end_ms", F.col("window_start_ms") + F.lit(HOUR_MS))
    )


def difference(what: str, expected: DataFrame, found: DataFrame) -> tuple[int, int, list[dict[str, object]]]:
    """Rows compared, how many of them only one side has (with multiplicity), and some of those."""
    columns = expected.columns
    odd = sorted(set(columns) ^ set(found.columns))
    if odd:
        return 0, 1, [{"in": what, "columns_of_one_side_only": ", ".join(odd)}]
    signed = expected.withColumn("side", F.lit(1)).unionByName(found.withColumn("side", F.lit(-1)))
    groups = signed.groupBy(*columns).agg(F.sum("side").alias("surplus"), F.count("*").alias("rows"))
    totals = groups.agg(F.sum("rows"), F.sum(F.abs("surplus"))).first()
    rows, violations = (0, 0) if totals is None else (int(totals[0] or 0), int(totals[1] or 0))
    wrong = groups.where("surplus != 0").orderBy(*columns).limit(EVIDENCE_ROWS).collect() if violations else []
    evidence = [
        {"in": what, "problem": "missing" if row["surplus"] > 0 else "unexpected", **row.asDict()} for row in wrong
    ]
    return rows, violations, evidence
