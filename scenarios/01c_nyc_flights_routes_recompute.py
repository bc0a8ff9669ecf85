"""Computes the results of 01c_nyc_flights_routes.yaml again from its input files, in plain PySpark and in one batch.

It knows nothing of the simulator. What an operator behind the flights alone has seen when a row arrives follows from the
order of the file. What the interval join has seen does not: that depends on how fast the weather is read, so of the join
it checks that every departure was joined with the hour before it, or had none, or was kept as late.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

HOUR_MS = 3_600_000
GAP_MS = 30 * 60_000
BOUND_MS = 30 * 60_000
SIZE_MS, SLIDE_MS = 3 * HOUR_MS, HOUR_MS
EVIDENCE_ROWS = 20
NO_WATERMARK = -(2**63)


def check(spark: SparkSession, input_path: str, out_dir: str) -> dict[str, object]:
    """Compares every sink's folder in ``out_dir/sinks`` with the recomputation."""
    first = _beside("01_nyc_flights_recompute.py")
    data = Path(input_path).parent
    flights = _with_watermark(first.read_in_file_order(spark, input_path), spark, data).cache()

    def parquet(name: str) -> DataFrame:
        return spark.read.parquet(f"{out_dir}/sinks/{name}")

    def lines(name: str, schema: str) -> DataFrame:
        return spark.read.json(f"{out_dir}/sinks/{name}", schema=schema, mode="FAILFAST")

    record = "scheduled_ms long, origin string, dest string, carrier string, tailnum string, dep_delay_min long, airline string"
    windows, routes_late = _sliding(flights)
    waves, waves_late = _sessions(flights)
    weather = spark.read.parquet(str(data / "nyc_weather_2013"))
    parts = [
        first.difference("route_windows", windows, parquet("route_windows")),
        first.difference("route_late", routes_late, lines("route_late", record)),
        first.difference("wave_windows", waves, parquet("wave_windows")),
        first.difference("wave_late", waves_late, lines("wave_late", record)),
        first.difference(
            "alarms", _alarms(flights), lines("alarms", "tailnum string, origin string, delay long, alarm_ms long")
        ),
        first.difference(
            "departures", _departures(flights, parquet("departures_late"), weather), parquet("departures")
        ),
    ]
    flights.unpersist()
    return {
        "rows_examined": sum(rows for rows, _, _ in parts),
        "violations": sum(violations for _, violations, _ in parts),
        "evidence": [row for _, _, evidence in parts for row in evidence][:EVIDENCE_ROWS],
    }


def _beside(name: str) -> ModuleType:
    path = Path(__file__).with_name(name)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _with_watermark(rows: DataFrame, spark: SparkSession, data: Path) -> DataFrame:
    """Adds the airline's name, and the watermark before each row: the highest time so far, minus 30 minutes, minus 1 ms."""
    before = Window.orderBy("row").rowsBetween(Window.unboundedPreceding, -1)
    watermark = F.max("scheduled_ms").over(before) - F.lit(BOUND_MS + 1)
    airlines = spark.read.csv(str(data / "airlines.csv"), header=True, schema="carrier string, airline string")
    known = rows.withColumn("watermark", F.coalesce(watermark, F.lit(NO_WATERMARK)))
    return known.join(F.broadcast(airlines), "carrier")


def _as_sent(rows: DataFrame) -> DataFrame:
    return rows.select("scheduled_ms", "origin", "dest", "carrier", "tailnum", "dep_delay_min", "airline")


def _sliding(flights: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Windows of three hours, one every hour, per route; and the rows all of whose windows were over when they came."""
    newest = F.col("scheduled_ms") - F.pmod(F.col("scheduled_ms"), F.lit(SLIDE_MS))
    starts = F.array(*[newest - F.lit(k * SLIDE_MS) for k in range(SIZE_MS // SLIDE_MS)])
    is_open = F.col("window_start_ms") + F.lit(SIZE_MS - 1) > F.col("watermark")
    in_windows = flights.withColumn("window_start_ms", F.explode(starts)).where(is_open)
    windows = (
        in_windows.withColumn("route", F.concat("origin", F.lit("-"), "dest"))
        .groupBy("route", "window_start_ms")
        .agg(F.count("*").alias("flights"), F.max("dep_delay_min").alias("delay_max_min"))
        .withColumn("window_end_ms", F.col("window_start_ms") + F.lit(SIZE_MS))
    )
    late = flights.where(newest + F.lit(SIZE_MS - 1) <= F.col("watermark"))
    return windows, _as_sent(late)


def _sessions(flights: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Sessions per airport and airline, folded in the order of arrival; and the rows that no open session could take."""
    found = "array<struct<start: bigint, end: bigint, flights: bigint, delay: bigint, row: bigint>>"
    folded = _histories(flights, "origin", "airline").select(
        "origin", "airline", F.explode(F.udf(lambda history: _fold_sessions(history), found)("history")).alias("s")
    )
    waves = folded.where("s.row < 0").select(
        "origin", "airline", F.col("s.start").alias("window_start_ms"), F.col("s.end").alias("window_end_ms"),
        F.col("s.flights").alias("flights"), F.col("s.delay").alias("delay_sum_min"),
    )  # fmt: skip
    late = flights.join(folded.where("s.row >= 0").select(F.col("s.row").alias("row")), "row", "left_semi")
    return waves, _as_sent(late)


def _histories(flights: DataFrame, *key: str) -> DataFrame:
    """Per key its rows in the order of arrival, as (row, scheduled_ms, watermark, dep_delay_min, origin)."""
    row: Column = F.struct("row", "scheduled_ms", "watermark", "dep_delay_min", F.col("origin").alias("at"))
    return flights.groupBy(*key).agg(F.sort_array(F.collect_list(row)).alias("history"))


def _fold_sessions(history: list[Any]) -> list[tuple[int, int, int, int, int]]:
    """Sessions as (start, end, flights, delay, -1); rows that came too late as (0, 0, 0, 0, row)."""
    opened: list[tuple[int, int, int, int]] = []
    done: list[tuple[int, int, int, int, int]] = []
    for row, at, watermark, delay, _ in history:
        done += [(*session, -1) for session in opened if session[1] - 1 <= watermark]
        opened = [session for session in opened if session[1] - 1 > watermark]
        start, end, flights, total = at, at + GAP_MS, 1, delay
        for session in [s for s in opened if s[0] <= end and start <= s[1]]:
            start, end = min(start, session[0]), max(end, session[1])
        if end - 1 <= watermark:
            done.append((0, 0, 0, 0, row))
            continue
        for session in [s for s in opened if s[0] <= at + GAP_MS and at <= s[1]]:
            opened.remove(session)
            flights, total = flights + session[2], total + session[3]
        opened.append((start, end, flights, total))
    return done + [(*session, -1) for session in opened]


def _alarms(flights: DataFrame) -> DataFrame:
    """Aircraft that left more than two hours late, and not on time again within twelve hours."""
    found = "array<struct<origin: string, delay: bigint, alarm_ms: bigint>>"
    folded = _histories(flights, "tailnum").select(
        "tailnum", F.explode(F.udf(lambda history: _fold_alarms(history), found)("history")).alias("a")
    )
    return folded.select("tailnum", "a.origin", "a.delay", "a.alarm_ms")


def _fold_alarms(history: list[Any]) -> list[tuple[str, int, int]]:
    gone_off: list[tuple[str, int, int]] = []
    alarm: tuple[str, int, int] | None = None
    set_at = NO_WATERMARK
    for _, at, watermark, delay, origin in history:
        # An alarm that is due already when it is set goes off with the next watermark, not at once.
        if alarm is not None and alarm[2] <= watermark and watermark > set_at:
            gone_off.append(alarm)
            alarm = None
        if delay <= 15:
            alarm = None
        if delay > 120:
            alarm, set_at = (origin, delay, at + 12 * HOUR_MS), watermark
    return gone_off + ([alarm] if alarm is not None else [])


def _departures(flights: DataFrame, late: DataFrame, weather: DataFrame) -> DataFrame:
    """Every departure that was not kept as late, with the observation of the hour before it, where there is one."""
    on_time = _as_sent(flights).exceptAll(_as_sent(late)).withColumnRenamed("origin", "airport")
    seen = weather.withColumn("observed_at", F.unix_millis("observed_at"))
    near = (
        (F.col("airport") == F.col("origin"))
        & (F.col("observed_at") > F.col("scheduled_ms") - F.lit(HOUR_MS))
        & (F.col("observed_at") <= F.col("scheduled_ms"))
    )
    return on_time.join(F.broadcast(seen), near).select(
        "origin", "scheduled_ms", "tailnum", F.col("dep_delay_min").alias("delay"), "observed_at", "wind_mph",
        "visibility_mi",
    )  # fmt: skip
