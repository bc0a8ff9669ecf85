"""How the end of a task reaches its channels: what comes before EndOfData and EndOfPartition (C.5, I4.a, I4.c, I4.d)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.units import MAX_WATERMARK
from flowsim.validation.checks.base import CHANNEL, TASK, Check, added, examined, needs_channels, tally, whole
from flowsim.validation.checks.event_time_paths import channel_paths
from flowsim.validation.recordings import Recordings

_EVENTS = (int(ElementKind.END_OF_DATA), int(ElementKind.END_OF_PARTITION))


def _lives(facts: Recordings) -> DataFrame:
    """One row per task: when its operators finished and were closed, and when it ended."""
    chains = facts["operators"].groupBy("run", "vertex").agg(F.count(F.lit(1)).alias("operators"))
    tasks = facts["tasks"].select(*TASK, "vertex", "inputs").join(chains, ["run", "vertex"], "left").drop("vertex")

    def seqs(event: LifeEvent) -> Column:
        return F.collect_list(F.when(F.col("event") == int(event), F.col("seq")))

    steps = facts["lifecycle"].groupBy(*TASK).agg(
        seqs(LifeEvent.FINISH).alias("finishes"), seqs(LifeEvent.CLOSE).alias("closes"), seqs(LifeEvent.FINISHED).alias("ends")
    )  # fmt: skip
    lives = tasks.join(steps, list(TASK), "left").join(_reached(facts), list(TASK), "left")
    none = F.array().cast("array<bigint>")
    return lives.select(
        *TASK, F.coalesce("operators", F.lit(0)).alias("operators"), "inputs",
        (F.coalesce("reached", F.lit(0)) >= F.col("inputs")).alias("reached"),
        *(F.coalesce(c, none).alias(c) for c in ("finishes", "closes", "ends")),
    )  # fmt: skip


def _reached(facts: Recordings) -> DataFrame:
    """How many inputs of each task reached the end of event time: behind a source that ends while idle none does."""
    maximum = (F.col("kind") == int(ElementKind.WATERMARK)) & (F.col("timestamp") == MAX_WATERMARK)
    return facts["task_watermark"].where(maximum).groupBy(*TASK).agg(F.count_distinct("input").alias("reached"))


def _judged(facts: Recordings) -> DataFrame:
    """Every end of data and of a partition that was sent, with what is wrong with it ('' when nothing is)."""
    maximum = (F.col("kind") == int(ElementKind.WATERMARK)) & (F.col("timestamp") == MAX_WATERMARK)
    status = F.col("kind") == int(ElementKind.STATUS)
    rows = facts["sent"].where(maximum | status | F.col("kind").isin(*_EVENTS)).select(
        *CHANNEL, "task", "seq", "kind", "timestamp"
    )  # fmt: skip
    before = Window.partitionBy(*CHANNEL).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    rows = (
        rows.withColumn("maximum", F.coalesce(F.max(maximum).over(before), F.lit(False)))
        .withColumn("status", F.last(F.when(status, F.col("timestamp")), ignorenulls=True).over(before))
        .where(F.col("kind").isin(*_EVENTS))
        .join(F.broadcast(_lives(facts)), list(TASK), "left")
        .join(F.broadcast(channel_paths(facts).select(*CHANNEL, "assigned")), list(CHANNEL), "left")
    )
    drain = F.col("timestamp") == 1
    idle = F.coalesce(F.col("status") == -1, F.lit(False)) | F.coalesce("assigned", F.lit(False))
    unfinished = F.exists("finishes", lambda at: at > F.col("seq")) | (
        drain & (F.size("finishes") < F.col("operators"))
    )
    end_of_data = (
        F.when(drain & ~F.col("maximum") & ~idle & F.col("reached"), "EndOfData with drain without MAX_WATERMARK")
        .when(~drain & F.col("maximum") & (F.col("inputs") == 0), "MAX_WATERMARK without drain")
        .when(unfinished, "EndOfData before all operators finished")
        .when(F.exists("closes", lambda at: at < F.col("seq")), "EndOfData after an operator was closed")
        .otherwise("")
    )
    open_still = F.size(F.filter("closes", lambda at: at < F.col("seq"))) < F.col("operators")
    end_of_partition = (
        F.when(open_still, "EndOfPartition before all operators were closed")
        .when(F.exists("ends", lambda at: at < F.col("seq")), "EndOfPartition after FINISHED")
        .otherwise("")
    )
    what = F.when(F.col("operators").isNull(), "of a task that is not in table tasks").otherwise(
        F.when(F.col("kind") == int(ElementKind.END_OF_DATA), end_of_data).otherwise(end_of_partition)
    )
    return rows.select(*CHANNEL, "task", "seq", "kind", what.alias("what"))


def _unended(facts: Recordings) -> DataFrame:
    """In a prefix, channels of finished tasks without EndOfPartition; in a whole run law channel-end asks for them."""
    finished = (
        facts["lifecycle"].where((F.col("event") == int(LifeEvent.FINISHED)) & ~whole(facts)).select(*TASK).distinct()
    )
    ended = facts["sent"].where(F.col("kind") == int(ElementKind.END_OF_PARTITION)).select(*CHANNEL).distinct()
    channels = facts["channels"].select(*CHANNEL, F.col("source_task").alias("task"))
    return channels.join(F.broadcast(finished), list(TASK), "semi").join(ended, list(CHANNEL), "anti")


def _counts(facts: Recordings) -> DataFrame:
    return tally(examined(_judged(facts), F.col("what") != ""), added(_unended(facts), F.lit(1)))


def _evidence(facts: Recordings) -> DataFrame:
    missing = _unended(facts).select(
        *CHANNEL, "task", F.lit(None).cast("long").alias("seq"), F.lit(None).cast("byte").alias("kind"),
        F.lit("FINISHED, but no EndOfPartition").alias("what"),
    )  # fmt: skip
    return _judged(facts).where("what != ''").unionByName(missing)


ENDS = Check("end", needs_channels, _counts, _evidence)
