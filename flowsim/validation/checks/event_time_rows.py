"""The rows that laws about event time fold, task by task: channels, what came in, what strategies made, what was sent."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent
from flowsim.units import NO_TIMESTAMP
from flowsim.validation.checks.async_places import PLACE, is_doing, places
from flowsim.validation.checks.base import TASK, union, whole
from flowsim.validation.checks.event_time_paths import INPUTS, channel_paths, operator_paths
from flowsim.validation.recordings import Recordings

CHANNEL, ARRIVED, MADE, SENT, QUEUE, TAKEN, LEFT = range(7)
"""``what`` a row is. CHANNEL: ``who`` the channel, ``origin``, ``statuses``, ``inputs`` of its task, ``flags`` 1 may end, 2
holds back, 4 queued; with ``who`` -1 of the task itself; -2 - ``who`` is an operator that waits for the end of its inputs.

QUEUE: ``who`` an operator that keeps watermarks back, ``origin`` of what reaches it, ``statuses``, ``flags`` as above, 8 at the
head; ``seen`` the watermark that leaves it next, in a prefix. TAKEN: a watermark that it took. LEFT: an element left it.

ARRIVED: ``who`` the input. MADE: ``who`` the operator; ``split``; ``records`` and ``highest`` as told, ``seen`` and
``seen_highest`` as sent, where that shows; ``delay`` of its strategy; ``flags`` 1 described, 2 has splits, 4 waits for its
inputs to end; ``heard_ns`` and ``idle_ms`` where its timeout can be judged. SENT: ``who`` the channel.
"""

STEERING: Final = (int(ElementKind.WATERMARK), int(ElementKind.STATUS))
_NUMBERS: Final = (
    "seq", "time_ns", "timestamp", "records", "highest", "seen", "seen_highest", "delay", "heard_ns", "idle_ms",
)  # fmt: skip
_SMALL: Final = ("what", "who", "origin", "inputs", "flags", "kind", "split", "statuses")
COLUMNS: Final = ("run", "task", *_SMALL, *_NUMBERS, "whole")


def sent_event_time(facts: Recordings) -> DataFrame:
    """Watermarks and statuses on channels."""
    return facts.shared("sent event time", lambda f: f["sent"].where(F.col("kind").isin(*STEERING)))


def event_time_rows(facts: Recordings) -> DataFrame:
    """All rows, with ``COLUMNS``; what a kind of row lacks is null."""
    return facts.shared("event time rows", _build)


def _build(facts: Recordings) -> DataFrame:
    flags = F.when(F.col("may_end"), 1).otherwise(0) + F.when(F.col("queued"), 4).otherwise(0)
    held = flags + F.when(F.col("holds_back"), 2).otherwise(0)
    channels = channel_paths(facts).select(
        *TASK, F.col("channel").alias("who"), "origin", "statuses", "inputs", held.alias("flags"),
        F.lit(-1).cast("long").alias("seq"),
    )  # fmt: skip
    # A task without channels may still have a strategy that waits for its inputs to end: it needs the number of inputs.
    tasks = facts["tasks"].select(*TASK, F.lit(-1).alias("who"), F.lit(-3).alias("origin"), "inputs",
                                  F.lit(0).alias("flags"), F.lit(-2).cast("long").alias("seq"))  # fmt: skip
    arrived = facts["task_watermark"].withColumnRenamed("input", "who")
    sent = sent_event_time(facts).withColumnRenamed("channel", "who")
    waiting = operator_paths(facts).where("waits_for_end").select(
        *TASK, (-2 - F.col("operator")).alias("who"), F.col("reached").alias("origin"), F.lit(-1).cast("long").alias("seq")
    )  # fmt: skip
    of_head = F.when(F.col("head"), 8).otherwise(0)
    held = F.when(F.col("holds_back") & (F.col("reached") == INPUTS), 2).otherwise(0)
    queues = operator_paths(facts).where("keeps_back")
    if facts.has("async_elements"):
        queues = queues.join(F.broadcast(_next_marks(facts)), list(PLACE), "left").withColumnRenamed(
            "next_mark", "seen"
        )
    queues = queues.withColumns(
        {"who": F.col("operator"), "origin": F.col("reached"), "flags": flags + held + of_head, "seq": F.lit(-1)}
    )
    described = ((CHANNEL, tasks), (CHANNEL, waiting), (CHANNEL, channels), (QUEUE, queues))
    rows = union(_aligned(ARRIVED, arrived), _aligned(MADE, _made(facts)), _aligned(SENT, sent))
    if facts.has("async_elements"):
        rows = union(rows, _aligned(TAKEN, _taken(facts)), _aligned(LEFT, _left(facts)))
        rows = union(rows, _aligned(LEFT, _first_of_many(rows, _left_records(facts))))
    return union(*(_aligned(what, frame) for what, frame in described), rows).withColumn("whole", whole(facts))


def _steps(facts: Recordings, *actions: AsyncAction) -> DataFrame:
    """Of async operators, with ``who`` and ``opening`` of the place."""
    known = F.broadcast(places(facts).select(*PLACE, "opening"))
    return (
        facts["async_elements"].where(is_doing(*actions)).join(known, list(PLACE)).withColumnRenamed("operator", "who")
    )


def _taken(facts: Recordings) -> DataFrame:
    """Watermarks that a queue took in, but not from a snapshot."""
    return _steps(facts, AsyncAction.PUT).where(
        (F.col("kind") == int(ElementKind.WATERMARK)) & (F.col("seq") > F.col("opening"))
    )


def _left(facts: Recordings) -> DataFrame:
    """Watermarks that left a queue."""
    return _steps(facts, AsyncAction.EMIT).where(F.col("kind") == int(ElementKind.WATERMARK)).select(
        *TASK, "who", "seq", "kind", "timestamp"
    )  # fmt: skip


def _left_records(facts: Recordings) -> DataFrame:
    """Everything else that left a queue."""
    return (
        _steps(facts, AsyncAction.EMIT).where(F.col("kind") != int(ElementKind.WATERMARK)).select(*TASK, "who", "seq")
    )


def _first_of_many(rows: DataFrame, records: DataFrame) -> DataFrame:
    """Of the records that leave a queue while nothing else is told the first says it all: most rows need not be followed."""
    order = Window.partitionBy(*TASK).orderBy("seq").rowsBetween(Window.unboundedPreceding, 0)
    marks = rows.select(*TASK, F.lit(None).cast("int").alias("who"), "seq", F.lit(1).alias("told"))
    both = records.withColumn("told", F.lit(0)).unionByName(marks).withColumn("told", F.sum("told").over(order))
    first = both.where("who is not null").groupBy(*TASK, "who", "told").agg(F.min("seq").alias("seq"))
    return first.select(*TASK, "who", "seq", F.lit(int(ElementKind.RECORD)).alias("kind"), F.lit(0).alias("timestamp"))


def _next_marks(facts: Recordings) -> DataFrame:
    """Of runs that did not reach their end the watermark that would leave each queue next."""
    rows = facts["async_elements"].where(~whole(facts))
    put = F.min(F.when(is_doing(AsyncAction.PUT), F.struct("seq", "kind", "timestamp")))
    entries = rows.groupBy(*PLACE, "entry").agg(
        put.alias("put"), F.count_if(is_doing(AsyncAction.EMIT)).alias("emitted")
    )
    waiting = entries.where((F.col("put.kind") == int(ElementKind.WATERMARK)) & (F.col("emitted") == 0))
    return waiting.groupBy(*PLACE).agg(F.min_by("put.timestamp", "entry").alias("next_mark"))


def _aligned(what: int, rows: DataFrame) -> DataFrame:
    rows = rows.withColumn("what", F.lit(what))
    return rows.select(
        *TASK,
        *((F.col(n) if n in rows.columns else F.lit(None)).cast("int").alias(n) for n in _SMALL),
        *((F.col(n) if n in rows.columns else F.lit(None)).cast("long").alias(n) for n in _NUMBERS),
    )


def _made(facts: Recordings) -> DataFrame:
    """What strategies made, beside what they are described to make and what their records show."""
    rows = facts["generated_watermark"].withColumnRenamed("max_timestamp", "highest")
    about = operator_paths(facts).withColumn("described", F.lit(4))
    rows = rows.join(F.broadcast(about), [*TASK, "operator"], "left")
    of_operator = Window.partitionBy(*TASK, "operator")
    splits = F.max("split").over(of_operator) >= 0
    flags = (
        F.when(F.col("described").isNotNull(), 1).otherwise(0)
        + F.when(splits, 2).otherwise(0)
        + F.when(F.coalesce("waits_for_end", F.lit(False)), 4).otherwise(0)
    )
    rows = rows.withColumn("flags", flags).select(
        *TASK,
        "operator",
        "seq",
        "time_ns",
        "split",
        "kind",
        "timestamp",
        "records",
        "highest",
        "flags",
        "delay",
        "idle_ms",
    )
    return _heard(facts, _seen(facts, rows)).withColumnRenamed("operator", "who")


def _records(facts: Recordings, door: str) -> DataFrame:
    """Records sent over the edges that ``door`` (sees, hears) names an operator for."""
    channels = channel_paths(facts).where(F.col(door) >= 0).select("run", "channel", F.col(door).alias("operator"))
    records = facts["sent"].where(F.col("kind") == int(ElementKind.RECORD))
    records = records.select("run", "task", "channel", "seq", "time_ns", "timestamp")
    return records.join(F.broadcast(channels), ["run", "channel"])


def _so_far() -> WindowSpec:
    before = Window.partitionBy(*TASK, "operator").orderBy("seq")
    return before.rowsBetween(Window.unboundedPreceding, -1)


def _seen(facts: Recordings, made: DataFrame) -> DataFrame:
    """Adds how many records an operator gave out before each row, and the highest timestamp; null where that is hidden."""
    generators = made.select(*TASK, "operator").distinct()
    watched = channel_paths(facts).where("sees >= 0").select(*TASK, F.col("sees").alias("operator")).distinct()
    records = _records(facts, "sees").join(F.broadcast(generators), [*TASK, "operator"], "semi")
    records = records.select(*TASK, "operator", "seq", F.lit(1).alias("one"), F.col("timestamp").alias("at"))
    rows = made.withColumns({"one": F.lit(0), "at": F.lit(NO_TIMESTAMP), "is_made": F.lit(True)})
    both = rows.unionByName(records, allowMissingColumns=True)
    count, highest = F.sum("one").over(_so_far()), F.max("at").over(_so_far())
    both = both.withColumns(
        {"seen": F.coalesce(count, F.lit(0)), "seen_highest": F.coalesce(highest, F.lit(NO_TIMESTAMP))}
    )
    both = both.where("is_made").drop("one", "at", "is_made")
    both = both.join(F.broadcast(watched.withColumn("shows", F.lit(True))), [*TASK, "operator"], "left")
    shows = F.col("shows") & (F.col("flags").bitwiseAND(F.lit(2)) == 0)
    return both.withColumns({n: F.when(shows, F.col(n)) for n in ("seen", "seen_highest")}).drop("shows")


def _heard(facts: Recordings, made: DataFrame) -> DataFrame:
    """Adds when an operator with a timeout was last heard of before each row: its last record, else that its task ran."""
    timed = made.where("idle_ms is not null").select(*TASK, "operator").distinct()
    running = facts["lifecycle"].where(F.col("event") == int(LifeEvent.RUNNING)).select(*TASK, "seq", "time_ns")
    moments = running.join(F.broadcast(timed), list(TASK)).select(
        *TASK, "operator", "seq", F.col("time_ns").alias("at")
    )
    records = _records(facts, "hears").join(F.broadcast(timed), [*TASK, "operator"], "semi")
    moments = moments.unionByName(records.select(*TASK, "operator", "seq", F.col("time_ns").alias("at")))
    rows = made.withColumns({"at": F.lit(None).cast("long"), "is_made": F.lit(True)})
    both = rows.unionByName(moments, allowMissingColumns=True).withColumn("heard_ns", F.max("at").over(_so_far()))
    return both.where("is_made").drop("at", "is_made")
