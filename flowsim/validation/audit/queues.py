"""Backlogs, slowly: what has certainly left a queue, and what may have left it, counted by windows (rules 5.18, 5.26)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import BufferKind, BufferSide
from flowsim.validation.audit.base import Audit, findings, rows_of, wrong
from flowsim.validation.checks.backlog import judged_buffers
from flowsim.validation.checks.base import CHANNEL, union, whole
from flowsim.validation.recordings import Recordings

_CARRIED = ("kind", "bytes", "backlog")


def _placed(rows: DataFrame) -> DataFrame:
    """Rows of one side in their order."""
    return rows.withColumn(
        "place", (F.row_number().over(Window.partitionBy(*CHANNEL, "side").orderBy("seq")) - 1).cast("long")
    )


def _sender(facts: Recordings) -> DataFrame:
    """Rows of the sender with, after each: data and events queued, events gone, and the bounds of the data gone.

    An event that leaves fences off all data queued before it. Behind the last fence every whole buffer that left is gone,
    and every partial one but the last may be.
    """
    queued, data = F.col("side") == int(BufferSide.QUEUED), F.col("kind") == int(BufferKind.DATA)
    leaves = ~queued
    order = Window.partitionBy(*CHANNEL).orderBy("seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, 0)
    rows = _placed(judged_buffers(facts).where(F.col("side") != int(BufferSide.RECEIVED))).withColumns({
        "queued_data": F.count_if(queued & data).over(so_far), "queued_events": F.count_if(queued & ~data).over(so_far),
        "events_gone": F.count_if(leaves & ~data).over(so_far),
        "tail_is_data": F.last(F.when(queued, data), ignorenulls=True).over(so_far),
    })  # fmt: skip
    # Only what is queued by then can be fenced off, so the fence of the n-th event stands at the n-th event queued.
    fences = rows.where(queued & ~data).select(
        *CHANNEL, F.col("queued_events").alias("events_gone"), F.col("queued_data").alias("fence")
    )
    rows = rows.join(fences, [*CHANNEL, "events_gone"], "left").withColumn("fence", F.coalesce("fence", F.lit(0)))
    ahead = fences.select(*CHANNEL, (F.col("events_gone") - 1).alias("events_gone"), F.col("fence").alias("next_fence"))
    rows = rows.join(ahead, [*CHANNEL, "events_gone"], "left")
    behind = Window.partitionBy(*CHANNEL, "events_gone").orderBy("seq").rowsBetween(Window.unboundedPreceding, 0)
    sent = leaves & data
    rows = rows.withColumns({
        "whole_gone": F.count_if(sent & (F.col("whole") == 1)).over(behind),
        "parts": F.count_if(sent & (F.col("whole") == 0)).over(behind),
    })  # fmt: skip
    least = F.col("fence") + F.col("whole_gone")
    own_part = F.when(sent & (F.col("whole") == 0), 1).otherwise(0)
    return rows.withColumns({"least": least, "most": least + F.col("parts") - own_part})


def _fits() -> Column:
    """The backlog is one that the queue can have."""
    queued = F.col("side") == int(BufferSide.QUEUED)
    high, low = F.col("queued_data") - F.col("least"), F.col("queued_data") - F.col("most")
    unflushed = F.when(~queued & F.col("tail_is_data"), 1).otherwise(0)
    told = F.col("backlog")
    return (told >= 0) & (told <= high) & (told >= low - unflushed)


def _in_turn(rows: DataFrame) -> DataFrame:
    """What leaves before it was queued, or before or behind an event that it must not pass."""
    queued, data = F.col("side") == int(BufferSide.QUEUED), F.col("kind") == int(BufferKind.DATA)
    limit = F.when(F.col("events_gone") < F.col("queued_events"), F.col("next_fence")).otherwise(F.col("queued_data"))
    passes = data & (F.col("least") + F.when(F.col("whole") == 0, 1).otherwise(0) > limit)
    before = Window.partitionBy(*CHANNEL).orderBy("seq")
    # The data in front of an event are gone when the bounds before it reach the fence that it opens.
    reached = (F.lag("least").over(before) <= F.col("fence")) & (
        F.lag("most").over(before) + F.lag(F.when(~queued & data & (F.col("whole") == 0), 1).otherwise(0)).over(before)
        >= F.col("fence")
    )
    jumps = ~data & ((F.col("events_gone") > F.col("queued_events")) | ~F.coalesce(reached, F.lit(False)))
    return rows.withColumn("jumps", ~queued & (passes | jumps))


def _left(rows: DataFrame, whole_run: Column) -> DataFrame:
    """Channels of whole runs that end with something in the queue."""
    last = F.max_by(F.struct("queued_data", "queued_events", "events_gone", "least", "most", "parts"), "seq")
    ends = rows.where(whole_run).groupBy(*CHANNEL).agg(last.alias("last")).select(*CHANNEL, "last.*")
    emptied = (F.col("least") <= F.col("queued_data")) & (F.col("least") + F.col("parts") >= F.col("queued_data"))
    return ends.where(~emptied | (F.col("events_gone") != F.col("queued_events")))


def _broken(facts: Recordings) -> DataFrame:
    rows = facts.shared("audited queues", _sender)
    received = _placed(judged_buffers(facts).where(F.col("side") == int(BufferSide.RECEIVED)))
    carried = rows.where(F.col("side") == int(BufferSide.SENT)).select(
        *CHANNEL, "place", F.struct(*_CARRIED).alias("left")
    )
    arrived = received.join(carried, [*CHANNEL, "place"], "left")
    unlike = F.col("left").isNull() | (F.col("left") != F.struct(*_CARRIED))
    misnumbered = F.col("number") != F.col("place")
    return union(
        findings(_in_turn(rows), {
            "a backlog that the queue cannot have": ~_fits(), "numbered otherwise than it came": misnumbered,
            "leaves out of turn": F.col("jumps"),
        }),
        wrong(arrived.where(unlike | misnumbered), "arrives otherwise than it left"),
        wrong(_left(rows, whole(facts)), "stays in its queue"),
    )  # fmt: skip


BACKLOG = Audit("backlog", lambda facts: rows_of(judged_buffers(facts)), _broken)
