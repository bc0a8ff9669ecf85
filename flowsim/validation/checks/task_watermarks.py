"""What a task tells its channels of event time follows from its inputs, or from what its strategies made (sections 8.A, 8.C)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.validation.checks.async_places import is_doing
from flowsim.validation.checks.base import TASK, Check, added, examined, kept, needs_channels, tally, whole
from flowsim.validation.checks.event_time_fold import COLUMNS, SCHEMA, Follower
from flowsim.validation.checks.event_time_paths import FREE, channel_paths
from flowsim.validation.checks.event_time_queue import Queue
from flowsim.validation.checks.event_time_rows import event_time_rows, sent_event_time
from flowsim.validation.checks.event_time_sent import follow_sent
from flowsim.validation.checks.event_time_strategy import Strategy
from flowsim.validation.checks.streaming import fold_sorted
from flowsim.validation.recordings import Recordings


def _followed(facts: Recordings) -> DataFrame:
    rows = event_time_rows(facts).select("run", "task", "whole", *COLUMNS)
    return fold_sorted(rows, TASK, "seq", follow_sent, SCHEMA, Follower, Queue, Strategy)


def _unlike(facts: Recordings) -> DataFrame:
    """Of sources that speak for themselves: what is not the same on every channel (rule 8.18)."""
    free = channel_paths(facts).where(F.col("origin") == FREE).select("run", "channel", "task")
    channels = free.groupBy(*TASK).agg(F.count(F.lit(1)).alias("channels"), F.min("channel").alias("place"))
    sent = sent_event_time(facts).join(F.broadcast(free.drop("task")), ["run", "channel"])
    place = F.row_number().over(Window.partitionBy("run", "channel").orderBy("seq"))
    told = sent.withColumn("number", place).groupBy(*TASK, "number").agg(
        F.count(F.lit(1)).alias("copies"), F.min("seq").alias("seq"), F.min("timestamp").alias("timestamp"),
        F.count_distinct(F.struct("kind", "timestamp")).alias("versions"),
    )  # fmt: skip
    short = F.col("copies") < F.col("channels")
    unlike = F.when(whole(facts), short | (F.col("versions") > 1)).otherwise(~short & (F.col("versions") > 1))
    return told.join(F.broadcast(channels), list(TASK)).where(unlike).select(
        "run", F.lit("not the same on every channel").alias("what"), "task", "seq", "place", "timestamp"
    )  # fmt: skip


def _find(facts: Recordings) -> DataFrame:
    return _followed(facts).unionByName(_unlike(facts))


def queued_marks(facts: Recordings) -> DataFrame:
    """Watermarks that were put into the queues of async operators."""
    return facts["async_elements"].where(is_doing(AsyncAction.PUT) & (F.col("kind") == int(ElementKind.WATERMARK)))


_violations = kept("task-watermark", _find)


def _counts(facts: Recordings) -> DataFrame:
    return tally(
        examined(sent_event_time(facts)), examined(facts["task_watermark"]), examined(facts["generated_watermark"]),
        examined(queued_marks(facts)), added(_violations(facts), F.lit(1)),
    )  # fmt: skip


TASK_WATERMARK = Check("task-watermark", needs_channels, _counts, _violations)
