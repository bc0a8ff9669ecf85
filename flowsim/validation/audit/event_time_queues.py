"""What async operators tell of event time, and what they take in, as more lanes beside channels (rules 11.2, 11.3)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.validation.audit.base import kind_is
from flowsim.validation.checks.async_places import PLACE, places
from flowsim.validation.checks.base import TASK, union, whole
from flowsim.validation.checks.event_time_paths import FREE, INPUTS, channel_paths, operator_paths
from flowsim.validation.recordings import Recordings

_IDLE, _ACTIVE = -1, 0
_STRIDE = 10_000
"""More operators than a chain has."""


def lanes(facts: Recordings) -> DataFrame:
    """(run, task, channel, origin, statuses, queued, may_end, holds_back, is_head): channels, and queues of async operators.

    A queue has a negative number in place of a channel's.
    """
    columns = ("run", "task", "channel", "origin", "statuses", "queued", "may_end", "holds_back")
    channels = channel_paths(facts).select(*columns).withColumn("is_head", F.lit(False))
    queues = operator_paths(facts).where("keeps_back").where((F.col("reached") != FREE) & (F.col("statuses") != FREE))
    number = (-1 - F.col("task") * _STRIDE - F.col("operator")).alias("channel")
    held = (F.col("holds_back") & (F.col("reached") == INPUTS)).alias("holds_back")
    is_head = (F.col("head") & (F.col("reached") == INPUTS)).alias("is_head")
    return channels.unionByName(
        queues.select(
            "run", "task", number, F.col("reached").alias("origin"), "statuses", "queued", "may_end", held, is_head
        )
    )


def taken(facts: Recordings) -> DataFrame:
    """(run, channel, seq, kind, timestamp) of the watermarks that queues took in, but not from a snapshot."""
    marks = facts["async_elements"].where(kind_is(ElementKind.WATERMARK) & (F.col("action") == int(AsyncAction.PUT)))
    marks = marks.join(F.broadcast(places(facts).select(*PLACE, "opening")), list(PLACE)).where("seq > opening")
    number = (-1 - F.col("task") * _STRIDE - F.col("operator")).alias("channel")
    return marks.select("run", number, "seq", "kind", "timestamp")


def _emitted(facts: Recordings) -> DataFrame:
    """What left async operators; ``mark`` is null for what is no watermark."""
    rows = facts["async_elements"].where(F.col("action") == int(AsyncAction.EMIT))
    rows = rows.join(F.broadcast(places(facts).select(*PLACE)), list(PLACE), "semi")
    mark = F.when(kind_is(ElementKind.WATERMARK), F.col("timestamp"))
    return rows.select(
        *TASK, F.col("operator").alias("origin"), "seq", mark.alias("mark"), F.lit(None).cast("long").alias("status")
    )


def _next_marks(facts: Recordings) -> DataFrame:
    """Of prefixes: the watermark in each queue that is the next to leave; it comes behind all that is told."""
    rows = facts["async_elements"].where(~whole(facts))
    first = Window.partitionBy(*PLACE, "entry").orderBy("seq")
    puts = rows.where(F.col("action") == int(AsyncAction.PUT)).withColumn("nth", F.row_number().over(first))
    gone = rows.where(F.col("action") == int(AsyncAction.EMIT)).select(*PLACE, "entry")
    waiting = puts.where("nth = 1").where(kind_is(ElementKind.WATERMARK)).join(gone, [*PLACE, "entry"], "anti")
    lowest = Window.partitionBy(*PLACE).orderBy("entry")
    waiting = waiting.withColumn("nth", F.row_number().over(lowest)).where("nth = 1")
    return waiting.join(F.broadcast(places(facts).select(*PLACE)), list(PLACE), "semi").select(
        *TASK, F.col("operator").alias("origin"), F.col("timestamp").alias("mark")
    )  # fmt: skip


def _told(causes: DataFrame, last: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """(keys, seq, sub, kind, timestamp, next) of causes (seq, mark, status): an emission is told by the cause before it."""
    order = Window.partitionBy(*keys).orderBy("seq")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    rows = causes.withColumns({
        "before": F.coalesce(F.lag("seq").over(order), F.lit(-1).cast("long")), "after": F.lead("seq").over(order),
        "was": F.coalesce(F.last("status", ignorenulls=True).over(before), F.lit(_ACTIVE).cast("long")),
        "ends_as": F.last("status", ignorenulls=True).over(Window.partitionBy(*keys).orderBy("seq").rowsBetween(
            Window.unboundedPreceding, Window.unboundedFollowing)),
    })  # fmt: skip

    def told(frame: DataFrame, seq: str, sub: int, kind: ElementKind, value: str, after: Column) -> DataFrame:
        return frame.select(
            *keys, F.col(seq).alias("seq"), F.lit(sub).alias("sub"), F.lit(int(kind)).cast("tinyint").alias("kind"),
            F.col(value).alias("timestamp"), after.alias("next"),
        )  # fmt: skip

    marks = rows.where("mark is not null").where(F.col("was") != _IDLE)
    changes = rows.where("status is not null").where(F.col("status") != F.col("was"))
    ends = rows.groupBy(*keys).agg(
        F.max("seq").alias("seq"), F.coalesce(F.max("ends_as"), F.lit(_ACTIVE)).alias("ends_as")
    )
    perhaps = last.join(ends, list(keys), "left").where(F.coalesce("ends_as", F.lit(_ACTIVE)) != _IDLE)
    perhaps = perhaps.withColumn("seq", F.coalesce("seq", F.lit(-1).cast("long")))
    return union(
        told(marks, "before", 1, ElementKind.WATERMARK, "mark", F.col("seq")),
        told(changes, "seq", 0, ElementKind.STATUS, "status", F.col("after")),
        told(perhaps, "seq", 2, ElementKind.WATERMARK, "mark", F.lit(None).cast("long")),
    )


def told_by_queues(facts: Recordings, told: DataFrame) -> DataFrame:
    """The same columns as ``told``, of the async operators whose statuses are known; ``told``: what all other origins say."""
    known = operator_paths(facts).where("keeps_back").where(F.col("statuses") != FREE)
    known = known.select(*TASK, F.col("operator").alias("origin"), "statuses")
    changes = told.where(kind_is(ElementKind.STATUS)).select(
        *TASK, F.col("origin").alias("statuses"), "seq", "timestamp"
    )
    changes = changes.join(F.broadcast(known), [*TASK, "statuses"]).select(
        *TASK, "origin", "seq", F.lit(None).cast("long").alias("mark"), F.col("timestamp").alias("status")
    )  # fmt: skip
    keys = (*TASK, "origin")
    queues = F.broadcast(known.select(*keys))
    causes = _emitted(facts).join(queues, list(keys), "semi").unionByName(changes)
    return _told(causes, _next_marks(facts).join(queues, list(keys), "semi"), keys)


def told_to_channels(facts: Recordings) -> DataFrame:
    """(run, channel, seq, sub, kind, timestamp, next) behind async operators of whose statuses only the channel knows."""
    behind = channel_paths(facts).where("queued").where(F.col("statuses") == FREE).select(*TASK, "origin", "channel")
    emitted = _emitted(facts).join(F.broadcast(behind), [*TASK, "origin"]).drop("task", "origin")
    own = facts["sent"].where(kind_is(ElementKind.STATUS)).join(F.broadcast(behind), [*TASK, "channel"], "semi")
    own = own.select(
        "run", "channel", "seq", F.lit(None).cast("long").alias("mark"), F.col("timestamp").alias("status")
    )
    last = _next_marks(facts).join(F.broadcast(behind), [*TASK, "origin"]).drop("task", "origin")
    keys = ("run", "channel")
    return _told(emitted.unionByName(own), last, keys).where(kind_is(ElementKind.WATERMARK))
