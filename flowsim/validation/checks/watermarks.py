"""Watermarks strictly increase: on every channel between the moments it is idle, and in every task."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind
from flowsim.validation.checks.base import CHANNEL, Check, examined, needs_channels, tally
from flowsim.validation.recordings import Recordings

_WATERMARK, _STATUS = int(ElementKind.WATERMARK), int(ElementKind.STATUS)
_IDLE = -1


def _judged_channels(facts: Recordings) -> DataFrame:
    """Every watermark sent, with whether it broke the law."""
    rows = (
        facts["sent"]
        .where(F.col("kind").isin(_WATERMARK, _STATUS))
        .select(*CHANNEL, "position", "seq", "task", "kind", "timestamp")
    )
    order = Window.partitionBy(*CHANNEL).orderBy("position", "seq")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    watermark = F.col("kind") == _WATERMARK
    idle = (F.col("kind") == _STATUS) & (F.col("timestamp") == _IDLE)
    # A struct keeps the number of idle rows seen so far beside the watermark, so that a moment of idleness in between shows.
    idles = F.count_if(idle).over(order.rowsBetween(Window.unboundedPreceding, 0))
    rows = rows.withColumn("idles", idles).withColumn("idle", idle)
    previous = F.last(F.when(watermark, F.struct("timestamp", "idles")), ignorenulls=True).over(before)
    rows = rows.withColumn("previous", previous).withColumn("follows_idle", F.lag("idle").over(order)).where(watermark)
    broken = F.coalesce(
        (F.col("previous.idles") == F.col("idles")) & (F.col("previous.timestamp") >= F.col("timestamp")), F.lit(False)
    )
    return rows.withColumn("violation", broken | F.coalesce("follows_idle", F.lit(False)))


def _judged_tasks(facts: Recordings) -> DataFrame:
    """Every watermark that a task input emitted, with whether it broke the law."""
    rows = facts["task_watermark"].where(F.col("kind") == _WATERMARK)
    order = Window.partitionBy("run", "task", "input").orderBy("seq")
    rows = rows.withColumn("previous", F.lag("timestamp").over(order))
    return rows.withColumn("violation", F.coalesce(F.col("timestamp") <= F.col("previous"), F.lit(False)))


def _counts(facts: Recordings) -> DataFrame:
    broken: Column = F.col("violation")
    return tally(examined(_judged_channels(facts), broken), examined(_judged_tasks(facts), broken))


def _evidence(facts: Recordings) -> DataFrame:
    channels = _judged_channels(facts).where("violation").select(
        "run", "task", "seq", F.col("channel"), "position", F.lit(None).cast("int").alias("input"), "timestamp",
        F.col("previous.timestamp").alias("previous"), F.col("follows_idle").alias("idle"),
    )  # fmt: skip
    tasks = _judged_tasks(facts).where("violation").select(
        "run", "task", "seq", F.lit(None).cast("int").alias("channel"), F.lit(None).cast("long").alias("position"), "input",
        "timestamp", "previous", F.lit(False).alias("idle"),
    )  # fmt: skip
    return channels.unionByName(tasks)


MONOTONE = Check("watermark-monotone", needs_channels, _counts, _evidence)
