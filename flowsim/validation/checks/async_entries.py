"""The elements of async operators one by one: who was overtaken, never emitted, or never asked for (rules 11.5, 11.11, 11.19)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.units import MAX_WATERMARK
from flowsim.validation.checks.async_places import OUTCOMES, PLACE, is_doing, places
from flowsim.validation.checks.base import union
from flowsim.validation.recordings import Recordings


def _entries(facts: Recordings) -> DataFrame:
    """One row per element that was put: when what happened to it first."""
    seq = F.col("seq")

    def first(*actions: AsyncAction) -> Column:
        return F.min(F.when(is_doing(*actions), seq))

    entries = facts["async_elements"].groupBy(*PLACE, "entry").agg(
        F.min(F.when(is_doing(AsyncAction.PUT), F.struct("seq", "kind"))).alias("put"),
        F.max(F.when(is_doing(AsyncAction.PUT), seq)).alias("last_put"),
        first(*OUTCOMES).alias("outcome"), first(AsyncAction.EMIT).alias("emitted"),
        F.count_if(is_doing(AsyncAction.INVOKE)).alias("calls"),
    )  # fmt: skip
    last = F.max("last_put").over(Window.partitionBy(*PLACE))
    entries = entries.withColumn("last_put", last).where("put is not null")
    return entries.join(F.broadcast(places(facts)), list(PLACE))


def _overtaken(entries: DataFrame) -> DataFrame:
    """The furthest turn that was emitted before each element was, beside its own.

    A turn is the rank in the queue and, where the operator goes by it, the moment of the outcome. Rules 11.6 to 11.11.
    """
    of_operator = Window.partitionBy(*PLACE)
    earlier = of_operator.orderBy("entry").rowsBetween(Window.unboundedPreceding, -1)
    before = of_operator.orderBy(F.col("emitted").asc_nulls_last(), "entry").rowsBetween(Window.unboundedPreceding, -1)
    is_mark = (F.col("put.kind") == int(ElementKind.WATERMARK)).cast("long")
    segment = 2 * F.coalesce(F.sum(is_mark).over(earlier), F.lit(0)) + is_mark
    entries = entries.withColumn("rank", F.when(F.col("ordered"), F.col("entry")).otherwise(segment))
    moment = F.when(~F.col("ordered") & ~F.col("legacy"), F.col("outcome"))

    def turn(unknown: int) -> Column:
        return F.struct(F.col("rank"), F.coalesce(moment, F.lit(unknown).cast("long")).alias("moment"))

    furthest = F.max(F.when(F.col("emitted").isNotNull(), turn(-1))).over(before)
    return entries.withColumn("furthest", furthest).where(F.col("furthest") > turn(MAX_WATERMARK))


def wrong_entries(facts: Recordings) -> DataFrame:
    """(run, law, what, task, operator, seq, entry), one row for each finding about an element."""
    entries = _entries(facts)
    put = F.col("put.seq")
    later = (F.col("last_put") > put) | F.coalesce(F.col("end") > put, F.lit(False))
    asked = (F.col("put.kind") != int(ElementKind.RECORD)) | (F.col("calls") > 0)

    def told(law: str, what: str, rows: DataFrame) -> DataFrame:
        return rows.select(
            "run", F.lit(law).alias("law"), F.lit(what).alias("what"), "task", "operator", put.alias("seq"), "entry"
        )

    return union(
        told("async-order", "overtaken", _overtaken(entries)),
        told("async-once", "never emitted", entries.where("emitted is null and end is not null")),
        told("async-retries", "never asked for", entries.where(~asked & later)),
    )
