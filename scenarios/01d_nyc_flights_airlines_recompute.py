"""Computes the results of 01d and 01e again from their input files, in plain PySpark and in one batch.

It knows nothing of the simulator. The airline's name is a join; which rows are late follows from the order of the file
alone, because nothing passes a watermark on its way through the calls. In ordered mode the named flights must lie in the
sink in the order of the file; in unordered mode the flights between two watermarks may have changed places, but not
passed one.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

COLUMNS = ("scheduled_ms", "origin", "dest", "carrier", "flight", "dep_delay_min", "name")
EVIDENCE_ROWS = 20


def check_ordered(spark: SparkSession, input_path: str, out_dir: str) -> dict[str, object]:
    """Compares all sinks with the recomputation; every named flight must have the place that it has in the file."""
    return _check(spark, input_path, out_dir, "row")


def check_unordered(spark: SparkSession, input_path: str, out_dir: str) -> dict[str, object]:
    """Compares all sinks with the recomputation; every named flight must lie between the same two watermarks."""
    return _check(spark, input_path, out_dir, "segment")


def _check(spark: SparkSession, input_path: str, out_dir: str, place: str) -> dict[str, object]:
    first = _beside("01_nyc_flights_recompute.py")
    airlines = spark.read.csv(
        str(Path(input_path).parent / "airlines.csv"), header=True, schema="carrier string, name string"
    )
    rows = first.with_lateness(first.read_in_file_order(spark, input_path))
    judged = _with_segment(rows).join(F.broadcast(airlines), "carrier").cache()
    parts = [
        first.difference(
            "named", judged.select(*COLUMNS, place), _named(spark, out_dir, judged.select("row", "segment"), place)
        ),
        first.difference(
            "windows", _hourly(judged.where("not is_late")), spark.read.parquet(f"{out_dir}/sinks/windows")
        ),
        first.difference("late", judged.where("is_late").select(*COLUMNS), spark.read.parquet(f"{out_dir}/sinks/late")),
    ]
    judged.unpersist()
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


def _with_segment(rows: DataFrame) -> DataFrame:
    """Adds the row that is the first one behind the same watermark: a new watermark follows each row that has a higher
    time than all before it."""
    before = Window.orderBy("row").rowsBetween(Window.unboundedPreceding, -1)
    seen = rows.withColumn("seen_ms", F.max("scheduled_ms").over(before))
    return seen.withColumn("segment", F.min("row").over(Window.partitionBy("seen_ms"))).drop("seen_ms")


def _named(spark: SparkSession, out_dir: str, places: DataFrame, place: str) -> DataFrame:
    """The named flights as the sink has them, each with the place that the file has at its position."""
    found = spark.read.parquet(f"{out_dir}/sinks/named").select("*", F.col("_metadata.row_index").alias("row"))
    return found.join(places, "row").select(*COLUMNS, place)


def _hourly(on_time: DataFrame) -> DataFrame:
    """Count, sum and maximum of the delay per airline and hour."""
    return (
        on_time.groupBy(F.col("name").alias("airline"), "window_start_ms")
        .agg(
            F.count("*").alias("flights"),
            F.sum("dep_delay_min").alias("delay_sum_min"),
            F.max("dep_delay_min").alias("delay_max_min"),
        )
        .withColumn("window_end_ms", F.col("window_start_ms") + F.lit(3_600_000))
    )
